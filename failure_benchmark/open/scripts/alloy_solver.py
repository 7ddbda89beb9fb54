"""Solves alloys in a C library whose wrapper keeps the interpreter's lock."""

import ctypes

from dask.distributed import Client, LocalCluster


def solve(alloy):
    ctypes.PyDLL(None).sleep(6)
    return alloy


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        print(sum(client.gather(client.map(solve, range(6)))))
