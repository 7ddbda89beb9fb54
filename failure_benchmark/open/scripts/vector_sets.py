"""Counts the vectors in the parts of a data set that was downloaded in the night."""

import os
import tempfile

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster


def downloaded():
    folder = tempfile.mkdtemp()
    for part in range(6):
        numbers = np.random.default_rng(part).random((5_000, 4))
        frame = pd.DataFrame(numbers, columns=list("abcd"))
        frame.to_parquet(os.path.join(folder, f"vectors-{part}.parquet"))
    last = os.path.join(folder, "vectors-4.parquet")
    # The connection broke off.
    os.truncate(last, os.path.getsize(last) * 2 // 3)
    return folder


if __name__ == "__main__":
    folder = downloaded()
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster),
    ):
        vectors = dd.read_parquet(folder)
        print((vectors.a * vectors.b).sum().compute())
