"""Stores the readings of meters by day."""

import os
import tempfile

import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client, LocalCluster


def readings(meter):
    times = pd.date_range("2026-03-01", periods=200, freq="h")
    return pd.DataFrame({"meter": meter, "time": times, "kwh": range(200)})


if __name__ == "__main__":
    store = os.path.join(tempfile.mkdtemp(), "readings")
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster),
    ):
        frame = dd.from_map(readings, range(6), meta=readings(0).iloc[:0])
        frame["day"] = frame["time"].dt.date
        frame.to_parquet(store)
        print(len(dd.read_parquet(store)))
