"""Converts scans of invoices; each conversion runs in a process of its own."""

import dask
import scanner
from dask.distributed import Client, LocalCluster

if __name__ == "__main__":
    # Workers must be able to start processes.
    dask.config.set({"distributed.worker.daemon": False})
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        print(sum(client.gather(client.map(scanner.convert, range(6)))))
