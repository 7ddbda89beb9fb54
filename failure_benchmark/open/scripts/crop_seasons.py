"""Sums the crops of seasons; each season is a process of its own."""

import multiprocessing
import time

import dask
from dask.distributed import Client, LocalCluster


@dask.delayed
def crop(field):
    time.sleep(0.1)
    return field % 9


def season(fields):
    print(sum(dask.compute(*[crop(field) for field in range(fields)])))


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster),
    ):
        season(10)
        forking = multiprocessing.get_context("fork")
        seasons = [forking.Process(target=season, args=(n,)) for n in (20, 30)]
        for each in seasons:
            each.start()
        for each in seasons:
            each.join()
