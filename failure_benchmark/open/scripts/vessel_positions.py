"""Reads a day of positions of vessels, in small partitions."""

import os
import tempfile

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster


def written():
    numbers = np.random.default_rng(4)
    rows = 5_000_000
    file = os.path.join(tempfile.mkdtemp(), "positions.parquet")
    pd.DataFrame(
        {
            "vessel": np.repeat(numbers.integers(0, 900, rows // 50), 50),
            "minute": np.arange(rows) // 100,
            "lat": np.repeat(numbers.random(rows // 100), 100),
            "lon": np.repeat(numbers.random(rows // 100), 100),
        }
    ).to_parquet(file, compression="gzip", row_group_size=rows)
    return file


def speeds(part):
    return part.assign(speed=np.hypot(part.lat.diff(), part.lon.diff()))


if __name__ == "__main__":
    file = written()
    dask.config.set({"distributed.scheduler.allowed-failures": 0})
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="350MiB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster),
    ):
        frame = dd.read_parquet(file).repartition(npartitions=100)
        print(frame.map_partitions(speeds).speed.mean().compute())
