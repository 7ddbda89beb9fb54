"""Counts the trees of orchards in a background process of the orchard service."""

import multiprocessing
import sys

from dask.distributed import Client, LocalCluster


def count(orchard):
    return orchard * 12


def background_job(orchards):
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        print(sum(client.gather(client.map(count, orchards))))


if __name__ == "__main__":
    # The service starts its jobs as daemons, so that they end with it.
    job = multiprocessing.Process(target=background_job, args=(range(20),), daemon=True)
    job.start()
    job.join(60)
    sys.exit(job.exitcode)
