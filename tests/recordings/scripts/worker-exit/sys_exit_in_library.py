"""Check licences; the library ends its process."""

import os
import sys

from dask.distributed import Client


def check(n):
    if n == 3:
        print("licence server: seat limit reached", file=sys.stderr, flush=True)
        os._exit(78)
    return n


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        print(client.gather(client.map(check, range(8))))
