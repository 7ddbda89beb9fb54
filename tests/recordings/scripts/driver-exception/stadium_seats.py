"""Seat sales per block of the stadium, written by one step and read by the next."""

import os
import shutil
import tempfile

import numpy as np
import pandas as pd
import dask.dataframe as dd
from dask.distributed import Client


def store_sales(root, day):
    rng = np.random.default_rng(day)
    frame = pd.DataFrame(
        {"block": rng.integers(1, 30, 4000), "price": rng.uniform(15, 90, 4000)}
    )
    target = os.path.join(root, f"day={day:02d}")
    dd.from_pandas(frame, npartitions=3).to_parquet(target)
    return target


def totals(root, day):
    sales = dd.read_parquet(os.path.join(root, f"day={day}"))
    return sales.groupby("block").price.sum().compute()


def main():
    root = tempfile.mkdtemp(prefix="stadium-")
    client = Client(n_workers=1, threads_per_worker=2, dashboard_address=":0")
    try:
        for day in range(1, 4):
            store_sales(root, day)
        for day in range(1, 4):
            print(day, totals(root, day).nlargest(2).to_dict())
    finally:
        client.shutdown()
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
