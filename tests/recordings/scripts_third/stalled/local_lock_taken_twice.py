"""Write under a lock that the caller holds."""

import threading

from dask.distributed import Client


GUARD = threading.Lock()


def append(n):
    with GUARD:
        return n


def write_table(n):
    with GUARD:
        return append(n)


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        print(client.submit(write_table, 1).result(timeout=18))
