"""Delay statistics of the ferry lines, every night from the day files.

Each day file (Parquet, one per day) is matched to the timetable by the last
scheduled departure of the line; the delays go into the monthly table.
Exit codes: 0 fine, 3 the statistics could not be computed.
"""

import argparse
import logging
import sys
import tempfile
import time
from pathlib import Path

import dask
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

log = logging.getLogger("ferry_delays")

LINES = ["harbour", "island", "fjord"]
START = pd.Timestamp("2026-05-01")


def write_days(folder, n):
    """Stand-in for the export of the operators' logbook."""
    rng = np.random.default_rng(5)
    for k in range(n):
        day = START + pd.Timedelta(days=k)
        minutes = np.sort(rng.integers(6 * 60, 22 * 60, 400))
        frame = pd.DataFrame(
            {
                "line": rng.choice(LINES, 400),
                "departed": (day + pd.to_timedelta(minutes, unit="min")).astype(
                    "datetime64[us]"
                ),
                "passengers": rng.poisson(120, 400),
            }
        )
        if k == 8:
            frame["departed"] = frame["departed"].dt.tz_localize("UTC")
        frame.to_parquet(folder / f"log_{day:%Y%m%d}.parquet")


@dask.delayed
def passenger_count(path):
    time.sleep(0.6)
    return int(pd.read_parquet(path, columns=["passengers"])["passengers"].sum())


def timetable(day):
    """Scheduled departures of a day, every half hour for every line."""
    times = pd.date_range(day + pd.Timedelta(hours=5), periods=36, freq="30min")
    frames = [
        pd.DataFrame({"line": x, "scheduled": times.astype("datetime64[us]")})
        for x in LINES
    ]
    return pd.concat(frames).sort_values("scheduled")


@dask.delayed
def load_day(path):
    time.sleep(0.2)
    frame = pd.read_parquet(path)
    if frame.empty:
        raise ValueError(f"{Path(path).name} has no rows")
    return frame.sort_values("departed")


@dask.delayed
def match_timetable(frame, day):
    merged = pd.merge_asof(
        frame, timetable(day), left_on="departed", right_on="scheduled", by="line"
    )
    merged["delay"] = (merged["departed"] - merged["scheduled"]).dt.total_seconds() / 60
    return merged


@dask.delayed
def summarise(merged):
    weights = merged["passengers"]
    return pd.DataFrame(
        {
            "mean": merged.groupby("line")["delay"].mean(),
            "p90": merged.groupby("line")["delay"].quantile(0.9),
            "passenger_minutes": (merged["delay"] * weights)
            .groupby(merged["line"])
            .sum(),
        }
    )


@dask.delayed
def monthly(tables):
    return pd.concat(tables).groupby(level=0).mean().round(2)


def build(folder):
    tables = []
    for path in sorted(folder.glob("log_*.parquet")):
        day = pd.to_datetime(path.stem.split("_")[1])
        tables.append(summarise(match_timetable(load_day(str(path)), day)))
    log.info("%d day files", len(tables))
    return monthly(tables)


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--days", type=int, default=20)
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    with tempfile.TemporaryDirectory(prefix="ferry-") as tmp:
        write_days(Path(tmp), args.days)
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="300MB",
                dashboard_address=":0",
            ) as cluster,
            Client(cluster) as client,
        ):
            counts = [
                passenger_count(str(p)) for p in sorted(Path(tmp).glob("log_*.parquet"))
            ]
            log.info(
                "%d passengers in the month", sum(client.gather(client.compute(counts)))
            )
            try:
                table = client.compute(build(Path(tmp))).result()
            except Exception as e:
                log.error("statistics not computed: %s: %s", type(e).__name__, e)
                return 3
    log.info("delays\n%s", table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
