"""Normalises blocks of rainfall, four at a time in each worker."""

import dask
import numpy as np
from dask.distributed import Client, LocalCluster


def normalised(block):
    rain = np.random.default_rng(block).random(16_000_000)  # 128 MB
    dry = rain - rain.mean()
    return float((dry / rain.std()).sum())


if __name__ == "__main__":
    dask.config.set({"distributed.scheduler.allowed-failures": 0})
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=4,
            memory_limit="700MB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        print(sum(client.gather(client.map(normalised, range(12)))))
