"""Open a cache and return its handle."""

import threading

from dask.distributed import Client


def open_cache(n):
    return {"size": n, "guard": threading.Lock()}


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        print(client.submit(open_cache, 5).result())
