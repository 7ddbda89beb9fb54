"""Finds the peaks of radar sweeps, and the distances between them."""

import dask
import numpy as np
from dask.distributed import Client


@dask.delayed
def peaks(sweep: np.ndarray):
    found = np.flatnonzero(sweep > 0.99)
    return found, sweep[found]


@dask.delayed
def distance(places: np.ndarray) -> float:
    return float(np.diff(places).mean())


if __name__ == "__main__":
    random = np.random.default_rng(3)
    with Client(n_workers=1, threads_per_worker=2):
        distances = []
        for _ in range(5):
            places, heights = peaks(random.random(1_000))
            distances.append(distance(places))
        print(dask.compute(*distances))
