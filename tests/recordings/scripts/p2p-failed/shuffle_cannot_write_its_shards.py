"""A shuffle on hosts that allow no file over 256 KiB."""

import resource

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client


def limit():
    resource.setrlimit(resource.RLIMIT_FSIZE, (256 << 10, 256 << 10))


def part(n):
    rng = np.random.default_rng(n)
    return pd.DataFrame({"key": rng.integers(0, 4, 150_000), "v": rng.random(150_000)})


if __name__ == "__main__":
    dask.config.set({"dataframe.shuffle.method": "p2p"})
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        client.run(limit)
        frame = dd.from_map(part, range(8))
        shuffled = frame.shuffle("key", npartitions=4)
        print(
            shuffled.map_partitions(lambda part: part.assign(n=len(part)))
            .n.sum()
            .compute()
        )
