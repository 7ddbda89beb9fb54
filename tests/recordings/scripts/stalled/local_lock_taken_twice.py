"""Write under a lock that the caller holds."""

import threading

from dask.distributed import Client


def append(n, guard):
    with guard:
        return n


def write_table(n):
    guard = threading.Lock()
    with guard:
        return append(n, guard)


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        print(client.submit(write_table, 1).result(timeout=18))
