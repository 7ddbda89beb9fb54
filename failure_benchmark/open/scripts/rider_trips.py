"""Collects the trips of each rider."""

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster


def trips(month):
    numbers = np.random.default_rng(month)
    rows = 150_000
    return pd.DataFrame(
        {
            "rider": np.arange(rows) + month * rows,
            "metres": numbers.integers(100, 30_000, rows),
            "fare": numbers.random(rows),
        }
    )


if __name__ == "__main__":
    dask.config.set({"distributed.scheduler.allowed-failures": 0})
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="500MiB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster),
    ):
        frame = dd.from_map(trips, range(60), meta=trips(0).iloc[:0])
        riders = frame.groupby("rider").agg(
            {"metres": "sum", "fare": ["mean", "max"]}, split_out=1
        )
        busy = riders[riders[("metres", "sum")] > 25_000]
        print(len(busy))
