"""Pivot visits to a wide table on an adaptive cluster."""

import dask
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster


@dask.delayed
def visits(week):
    rng = np.random.default_rng(week)
    return pd.DataFrame(
        {
            "user": rng.permutation(6_000),
            "page": rng.permutation(6_000),
            "seconds": rng.random(6_000),
        }
    )


@dask.delayed
def to_wide(frame):
    wide = frame.pivot_table(
        index="user", columns="page", values="seconds", fill_value=0
    )
    return wide.shape


if __name__ == "__main__":
    with LocalCluster(
        n_workers=0, threads_per_worker=1, memory_limit="450MiB", dashboard_address=":0"
    ) as cluster:
        cluster.adapt(minimum=1, maximum=2, interval="500ms")
        with Client(cluster) as client:
            client.wait_for_workers(1)
            print(dask.compute(*[to_wide(visits(week)) for week in range(3)]))
