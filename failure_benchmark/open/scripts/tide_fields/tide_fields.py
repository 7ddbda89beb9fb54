"""Reads fields of tides from files with a library in C."""

import dask
import tidefile
from dask.distributed import Client, LocalCluster


def mean(number):
    return sum(tidefile.read(number)) / 8


if __name__ == "__main__":
    dask.config.set({"distributed.scheduler.allowed-failures": 0})
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=2, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        print(client.gather(client.map(mean, range(40))))
