"""Counts the loaves of bakeries, and reports each count as soon as it is known."""

import numpy as np
from dask.distributed import Client, Queue


def count(bakery: int, counted: Queue) -> int:
    loaves = np.arange(bakery * 100, dtype="int64") % 9
    counted.put({"bakery": bakery, "loaves": loaves.sum()})
    return bakery


if __name__ == "__main__":
    with Client(n_workers=1, threads_per_worker=2) as client:
        counted = Queue("counted")
        futures = client.map(count, range(1, 9), counted=counted)
        client.gather(futures)
        print([counted.get(timeout=10) for _ in futures])
