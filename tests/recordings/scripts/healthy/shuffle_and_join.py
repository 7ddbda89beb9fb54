"""A peer-to-peer shuffle and a join."""

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client


def part(n):
    rng = np.random.default_rng(n)
    return pd.DataFrame({"key": rng.integers(0, 500, 5_000), "v": rng.random(5_000)})


if __name__ == "__main__":
    dask.config.set({"dataframe.shuffle.method": "p2p"})
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0"):
        left, right = dd.from_map(part, range(6)), dd.from_map(part, range(6, 12))
        print(len(left.merge(right.drop_duplicates("key"), on="key")))
