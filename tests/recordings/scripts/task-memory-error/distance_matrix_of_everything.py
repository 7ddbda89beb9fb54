"""Distances between all pairs of points."""

import dask
import numpy as np
from dask.distributed import Client


@dask.delayed
def distances(seed, count):
    points = np.random.default_rng(seed).random((count, 3))
    matrix = np.empty((count, count, 3))
    matrix[:] = points[:, None, :] - points[None, :, :]
    return float(np.sqrt((matrix**2).sum(axis=2)).max())


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0"):
        sizes = [200, 300, 4_000_000, 100]
        print(dask.compute(*[distances(n, size) for n, size in enumerate(sizes)]))
