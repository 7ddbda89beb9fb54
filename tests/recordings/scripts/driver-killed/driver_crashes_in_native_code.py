"""Cluster work is done; then a native library of the driver crashes."""

import ctypes

from dask.distributed import Client


def partial_sum(n):
    return sum(range(n))


def plot(values):
    ctypes.memmove(16, bytes(values), 8)


if __name__ == "__main__":
    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    values = client.gather(client.map(partial_sum, range(20)))
    plot([v % 256 for v in values])
