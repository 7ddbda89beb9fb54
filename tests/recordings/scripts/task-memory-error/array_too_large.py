"""Build a matrix of all pairs."""

import numpy as np
from dask.distributed import Client


def pairs(n):
    return np.ones((n, n)).sum()


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        print(client.submit(pairs, 4_000_000).result())
