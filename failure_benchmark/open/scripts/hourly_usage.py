"""Sums the usage of each hour over the days of a month."""

import os
import tempfile

import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client, LocalCluster


def exported():
    folder = tempfile.mkdtemp()
    for day in range(1, 9):
        frame = pd.DataFrame({"hour": range(24), "usage": [day * 1.5] * 24})
        if day < 5:
            # The old meters reported no tariff.
            frame.to_parquet(os.path.join(folder, f"2026-06-{day:02}.parquet"))
        else:
            frame = frame.assign(tariff="night")
            frame.to_parquet(os.path.join(folder, f"2026-06-{day:02}.parquet"))
    return folder


if __name__ == "__main__":
    folder = exported()
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster),
    ):
        usage = dd.read_parquet(sorted(os.path.join(folder, each) for each in os.listdir(folder)))
        print(usage.groupby("tariff").usage.sum().compute())
