"""Conjunction screening: distances between all pairs of tracked objects."""

import numpy as np
from dask.distributed import Client, as_completed


def propagate(day, count):
    rng = np.random.default_rng(day)
    return rng.normal(scale=7000, size=(count, 3)).astype("f4")


def closest_pair(objects):
    gap = np.linalg.norm(objects[:, None, :] - objects[None, :, :], axis=-1)
    np.fill_diagonal(gap, np.inf)
    return float(gap.min())


CATALOGUE = {0: 300, 1: 310, 2: 305, 3: 2_400_000, 4: 320}


def main():
    with Client(
        n_workers=2, threads_per_worker=1, memory_limit="700MB", dashboard_address=":0"
    ) as client:
        jobs = {}
        for day, count in CATALOGUE.items():
            tracks = client.submit(propagate, day, count)
            jobs[client.submit(closest_pair, tracks)] = day
        for future in as_completed(jobs):
            print("day", jobs[future], "closest km", round(future.result(), 2))


if __name__ == "__main__":
    main()
