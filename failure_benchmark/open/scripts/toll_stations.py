"""Adds up the tolls of stations with a table that every worker is given once."""

import os
import signal

from dask.distributed import Client, LocalCluster


def toll(table, station):
    return table[station % len(table)]


def broken_import(number):
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
        Client(cluster, set_as_default=False) as other,
    ):
        table = client.scatter([2, 3, 5, 8], broadcast=True)
        print(client.submit(toll, table, 1).result())
        # Another user of the cluster has a task that ends its workers.
        print(repr(other.submit(broken_import, 1).exception()))
        tolls = client.map(toll, [table] * 12, range(12), pure=False)
        print(sum(client.gather(tolls)))
