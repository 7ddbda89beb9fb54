"""Light curves of eclipsing binaries: minima per star from the observers' logs."""

import logging
import tempfile
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

log = logging.getLogger("eclipse")
OBSERVERS = ["hilo", "tartu", "pune", "cordoba", "lund", "perth"]


def observers_logs(folder):
    rng = np.random.default_rng(64)
    for observer in OBSERVERS:
        when = pd.Timestamp("2026-02-20 18:00") + pd.to_timedelta(
            np.sort(rng.integers(0, 12 * 86400, 800)), unit="s"
        )
        frame = pd.DataFrame(
            {
                "utc": when.strftime("%Y-%m-%d %H:%M:%S"),
                "star": rng.choice(["algol", "beta_lyr", "w_uma"], 800),
                "mag": rng.normal(3.2, 0.4, 800).round(3),
            }
        )
        if observer == "pune":
            frame.loc[frame.utc.str.startswith("2026-03-01"), "utc"] = (
                frame.utc.str.replace("2026-03-01", "2026-02-29")
            )
        frame.to_csv(folder / f"{observer}.csv", index=False)


def read_log(path):
    frame = pd.read_csv(path, dtype={"utc": str})
    return frame.assign(observer=Path(path).stem)


def julian_date(frame):
    when = pd.to_datetime(frame["utc"], format="%Y-%m-%d %H:%M:%S")
    return frame.assign(
        jd=(when - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1) + 2440587.5
    )


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        observers_logs(folder)
        paths = [str(folder / f"{o}.csv") for o in OBSERVERS]
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=":0"
            ) as cluster,
            Client(cluster),
        ):
            raw = dd.from_map(
                read_log,
                paths,
                meta=pd.DataFrame(
                    {
                        "utc": pd.Series(dtype="str"),
                        "star": pd.Series(dtype="str"),
                        "mag": pd.Series(dtype="f8"),
                        "observer": pd.Series(dtype="str"),
                    }
                ),
            )
            dated = raw.map_partitions(
                julian_date,
                meta={
                    "utc": "str",
                    "star": "str",
                    "mag": "f8",
                    "observer": "str",
                    "jd": "f8",
                },
            )
            faint = dated[dated.mag > 3.9].groupby("star").jd.min().compute()
            for star, jd in faint.items():
                log.info("first minimum of %s at JD %.4f", star, jd)


if __name__ == "__main__":
    main()
