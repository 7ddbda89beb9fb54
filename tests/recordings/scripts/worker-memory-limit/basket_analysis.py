"""Item-to-item affinity from shopping baskets."""

import numpy as np
from dask.distributed import Client, LocalCluster


def load_baskets(shop, items):
    rng = np.random.default_rng(shop)
    return rng.random((400, items)) < 0.01


def affinity(baskets):
    dense = baskets.astype("float64")
    pairs = np.empty((dense.shape[1], dense.shape[1]))
    np.matmul(dense.T, dense, out=pairs)
    return float(np.sort(pairs, axis=None)[-10:].mean())


SHOPS = {"kiosk-1": 300, "kiosk-2": 300, "corner": 900, "hyper": 9000, "garage": 200}


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="600MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            jobs = {}
            for i, (shop, items) in enumerate(SHOPS.items()):
                baskets = client.submit(load_baskets, i, items, key=f"load-{shop}")
                jobs[shop] = client.submit(affinity, baskets, key=f"affinity-{shop}")
            for shop, job in jobs.items():
                print(shop, job.result())


if __name__ == "__main__":
    import dask

    with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
        main()
