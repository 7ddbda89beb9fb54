"""Rental overlaps in blocks; a block that does not fit is cut in halves until it does."""

import os
import resource

import numpy as np
from dask.distributed import Client


def overlaps(starts, room):
    pages = int(open("/proc/self/statm").read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages + room, hard))
    try:
        distance = np.zeros((len(starts), len(starts)), dtype="f8")
        np.subtract.outer(starts, starts, out=distance)
        return int((np.abs(distance) < 0.5).sum())
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def count(client, starts, room, depth=0):
    try:
        return client.submit(overlaps, starts, room).result()
    except MemoryError as error:
        print("  " * depth + f"{len(starts)} rentals do not fit ({error}), in halves")
        middle = len(starts) // 2
        return sum(
            count(client, part, room, depth + 1)
            for part in (starts[:middle], starts[middle:])
        )


if __name__ == "__main__":
    with Client(
        n_workers=1, threads_per_worker=1, memory_limit=0, dashboard_address=None
    ) as client:
        starts = np.sort(np.random.default_rng(1).uniform(0, 1000, 8000))
        print("overlapping:", count(client, starts, 200 << 20))
