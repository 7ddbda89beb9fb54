"""One task takes all partitions; recorded with the context manager."""

import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster
from dask_blackbox import recording


def load(day):
    rng = np.random.default_rng(day)
    return pd.DataFrame(rng.random((400_000, 6)))


def correlate(frames):
    table = pd.concat([frame for frame in frames for _ in range(4)], ignore_index=True)
    return table.corr()


def main():
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="500MiB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
        recording(client, job="correlations"),
    ):
        days = client.map(load, range(8))
        print(client.submit(correlate, days).result())


if __name__ == "__main__":
    main()
