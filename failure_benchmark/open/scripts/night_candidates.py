"""Filters the candidates of a night with a library that keeps all it has seen."""

import dask
import numpy as np
from dask.distributed import Client, LocalCluster

seen = []


def candidates(picture):
    seen.append(np.random.default_rng(picture).random(2_000_000))  # 16 MB
    return int((seen[-1] > 0.999).sum())


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
