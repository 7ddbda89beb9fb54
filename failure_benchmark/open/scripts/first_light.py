"""Takes the first pictures; the first task of a worker imports a large library."""

import ctypes
import time

from dask.distributed import Client, LocalCluster

loaded = []


def load_library():
    if not loaded:
        ctypes.PyDLL(None).sleep(4)  # nothing else runs while it is imported
        loaded.append(True)


def picture(number):
    load_library()
    time.sleep(0.1)
    return number


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        print(sum(client.gather(client.map(picture, range(150)))))
