"""Corrects the readings of sensors by an offset that a task has measured."""

import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client


def measured_offset() -> int:
    return 4


def correct(readings: pd.DataFrame, offset: int) -> pd.DataFrame:
    return readings + offset


if __name__ == "__main__":
    with Client(n_workers=1, threads_per_worker=2) as client:
        offset = client.submit(measured_offset)
        readings = dd.from_pandas(
            pd.DataFrame({"north": range(100), "south": range(100)}), npartitions=4
        )
        print(readings.map_partitions(correct, offset).sum().compute())
