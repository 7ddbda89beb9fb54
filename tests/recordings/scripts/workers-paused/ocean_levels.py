import time

import dask
import numpy as np
from dask.distributed import Client, LocalCluster


def salinity(depth):
    import builtins

    store = builtins.__dict__.setdefault("_ocean_fields", {})
    store[depth] = np.random.default_rng(depth).normal(35, 1, 5_000_000)
    time.sleep(0.3)
    return float(store[depth].mean())


def main():
    settings = {
        "distributed.worker.memory.pause": 0.6,
        "distributed.worker.memory.terminate": False,
        "distributed.worker.memory.monitor-interval": "100ms",
    }
    with dask.config.set(settings):
        cluster = LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            memory_limit="700MiB",
            dashboard_address=None,
        )
        client = Client(cluster)
        try:
            levels = client.map(salinity, range(40))
            profile = client.submit(np.mean, levels)
            print("mean salinity", profile.result(timeout=17))
        finally:
            client.close()
            cluster.close()


if __name__ == "__main__":
    main()
