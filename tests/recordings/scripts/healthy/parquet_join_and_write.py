"""Join two Parquet data sets and write the result."""

import tempfile

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

if __name__ == "__main__":
    folder = tempfile.mkdtemp()
    rng = np.random.default_rng(2)
    orders = pd.DataFrame({"customer": rng.integers(0, 500, 60_000), "total": 2.5})
    customers = pd.DataFrame({"customer": range(500), "country": ["DE", "PL"] * 250})
    dd.from_pandas(orders, npartitions=6).to_parquet(f"{folder}/orders", compute=True)
    dd.from_pandas(customers, npartitions=2).to_parquet(f"{folder}/customers")

    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        with Client(cluster):
            left = dd.read_parquet(f"{folder}/orders")
            right = dd.read_parquet(f"{folder}/customers")
            joined = left.merge(right, on="customer", how="left")
            joined.groupby("country").total.sum().to_frame().to_parquet(f"{folder}/out")
            print(dd.read_parquet(f"{folder}/out").compute())
