import time

import dask
import numpy as np
from dask.distributed import Client, LocalCluster


def poll_ledger(page):
    total = 0
    for k in range(150):
        total += (page * 31 + k) % 17
        time.sleep(0.1)
    return total


def build_tensor(region, steps):
    layers = []
    for step in range(steps):
        layers.append(np.full((2_500, 2_500), step, dtype="float64"))
        time.sleep(0.05)
    return region, float(sum(layer.mean() for layer in layers))


def main():
    dask.config.set({"distributed.scheduler.allowed-failures": 1})
    cluster = LocalCluster(
        n_workers=1,
        threads_per_worker=2,
        memory_limit="600 MiB",
        dashboard_address=None,
    )
    client = Client(cluster)
    try:
        pages = [client.submit(poll_ledger, 12)]
        tensors = [client.submit(build_tensor, "north", 40)]
        print("ledger", client.gather(pages))
        print("tensors", client.gather(tensors))
    finally:
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
