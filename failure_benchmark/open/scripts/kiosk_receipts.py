"""Collects the receipts of kiosks, for the report of the month."""

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster


def receipts(till):
    numbers = np.random.default_rng(till)
    rows = 250_000
    return pd.DataFrame(
        {
            "till": np.full(rows, till),
            "second": numbers.integers(0, 2_600_000, rows),
            "cents": numbers.integers(10, 30_000, rows),
            "shop": np.full(rows, till % 5),
        }
    )


if __name__ == "__main__":
    dask.config.set({"distributed.scheduler.allowed-failures": 0})
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MiB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster),
    ):
        sold = dd.from_map(receipts, range(32), meta=receipts(0).iloc[:0])
        report = sold[sold.cents > 200].assign(euros=sold.cents / 100).compute()
        print(report.groupby("shop").euros.sum())
