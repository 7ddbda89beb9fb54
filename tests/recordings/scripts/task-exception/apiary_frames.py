"""Brood frames from two apps, put together with from_delayed and a common meta."""

import time

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask import delayed
from dask.distributed import Client, LocalCluster


@delayed
def export_of_app(day):
    time.sleep(0.2)
    rng = np.random.default_rng(day)
    frame = pd.DataFrame(
        {
            "frame": np.arange(50),
            "brood": rng.uniform(0, 1, 50),
            "queen_seen": rng.integers(0, 2, 50).astype(bool),
        }
    )
    if day >= 9:  # version 4 of the app calls it otherwise
        frame = frame.rename(columns={"queen_seen": "queen_spotted"})
    return frame


def main():
    meta = pd.DataFrame(
        {
            "frame": pd.Series(dtype="int64"),
            "brood": pd.Series(dtype="float64"),
            "queen_seen": pd.Series(dtype="bool"),
        }
    )
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MiB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster):
            frames = dd.from_delayed(
                [export_of_app(d) for d in range(12)], meta=meta, verify_meta=True
            )
            seen = frames[frames["queen_seen"]]
            print(seen.groupby("frame")["brood"].mean().compute().head())


if __name__ == "__main__":
    main()
