"""Mesh parts; the second batch has a degenerate part."""

import ctypes

import dask
from distributed import Client


def triangulate(part):
    if part["vertices"] < 3:
        ctypes.CDLL(None).abort()  # what the mesher's C++ assertion does
    return part["vertices"] - 2


def batch(parts):
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        return sum(client.gather(client.map(triangulate, parts)))


if __name__ == "__main__":
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
        print(batch([{"vertices": n + 3} for n in range(10)]))
        print(batch([{"vertices": 2}] + [{"vertices": n + 4} for n in range(10)]))
