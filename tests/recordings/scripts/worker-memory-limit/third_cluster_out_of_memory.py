"""Tune the number of features; a fresh cluster for each size."""

import numpy as np
from dask.distributed import Client, LocalCluster


def gram(features, seed):
    rng = np.random.default_rng(seed)
    matrix = rng.random((4000, features))
    return float(np.trace(matrix.T @ matrix))


def tune(features):
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="350MiB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            futures = client.map(gram, [features] * 4, range(4))
            return sum(client.gather(futures))


if __name__ == "__main__":
    for features in (200, 800, 12_000):
        print(features, "features:", tune(features))
