"""Visitors of the trade fair per gate: badge scans of the halls, joined with the badge register."""

import logging
import pathlib
import tempfile

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

log = logging.getLogger("fair")


def write_scans(folder, halls=8, rows=500):
    for hall in range(halls):
        rng = np.random.default_rng(hall)
        scans = pd.DataFrame(
            {
                "badge": rng.integers(1, 4000, rows),
                "gate": rng.integers(1, 6, rows),
                "minute": np.arange(rows),
            }
        )
        if hall == 5:
            scans["badge"] = scans["badge"].astype(object)
            scans.loc[scans.index[-40:], "badge"] = [f"PRESS-{n}" for n in range(40)]
        scans.to_csv(folder / f"hall_{hall}.csv", index=False)
    return sorted(str(p) for p in folder.glob("hall_*.csv"))


def read_hall(path):
    return pd.read_csv(path)


def register(size=4000):
    rng = np.random.default_rng(99)
    table = pd.DataFrame(
        {
            "badge": np.arange(1, size),
            "kind": rng.choice(["visitor", "exhibitor", "student"], size - 1),
        }
    )
    return dd.from_pandas(table, npartitions=6)


def visits(paths):
    meta = pd.DataFrame(
        {
            "badge": pd.Series(dtype="int64"),
            "gate": pd.Series(dtype="int64"),
            "minute": pd.Series(dtype="int64"),
        }
    )
    scans = dd.from_map(read_hall, paths, meta=meta)
    joined = scans.merge(register(), on="badge", how="left")
    return joined.groupby(["gate", "kind"])["minute"].count()


def main():
    logging.basicConfig(level=logging.INFO)
    with tempfile.TemporaryDirectory() as tmp:
        paths = write_scans(pathlib.Path(tmp))
        with dask.config.set({"dataframe.shuffle.method": "p2p"}):
            with (
                LocalCluster(
                    n_workers=2, threads_per_worker=1, dashboard_address=None
                ) as cluster,
                Client(cluster),
            ):
                counts = visits(paths).compute()
                log.info("%d groups", len(counts))
                print(counts.sort_index())


if __name__ == "__main__":
    main()
