"""Filters the candidates of a night with a library."""

import dask
from dask.distributed import Client, LocalCluster
from skyfilters import candidates

if __name__ == "__main__":
    dask.config.set({"distributed.worker.memory.terminate": False})
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        print(sum(client.gather(client.map(candidates, range(120)))))
