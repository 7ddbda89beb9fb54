"""Each task uses a pool of processes, one of which is killed."""

import multiprocessing
import os
import signal

from dask.distributed import Client


def thumbnail(n):
    if n == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return n


def thumbnails_of(album):
    context = multiprocessing.get_context("spawn")
    with context.Pool(2) as pool:
        return pool.map(thumbnail, album)


if __name__ == "__main__":
    with Client(
        n_workers=1,
        threads_per_worker=1,
        nanny=False,
        processes=False,
        dashboard_address=":0",
    ) as client:
        futures = client.map(thumbnails_of, [[1, 2, 3], [4, 5, 6]])
        print([each.result(timeout=25) for each in futures])
