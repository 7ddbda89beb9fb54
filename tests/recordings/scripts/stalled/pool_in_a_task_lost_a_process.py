"""Each task uses a pool of processes, one of which is killed in the middle of its work."""

import multiprocessing
import os
import signal
import time

import dask
from dask.distributed import Client


def thumbnails_of(album):
    context = multiprocessing.get_context("spawn")
    with context.Pool(2) as pool:
        running = pool.map_async(time.sleep, [12] * len(album), chunksize=1)
        time.sleep(6)
        if 5 in album:
            os.kill(pool._pool[0].pid, signal.SIGKILL)
        return running.get()


if __name__ == "__main__":
    dask.config.set({"distributed.worker.daemon": False})
    with Client(n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
        futures = client.map(thumbnails_of, [[1, 2, 3], [4, 5, 6]])
        print([each.result(timeout=70) for each in futures])
