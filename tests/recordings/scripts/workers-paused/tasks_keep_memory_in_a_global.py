"""Cache lookups on the workers; the cache never forgets."""

import time

import numpy as np
from dask.distributed import Client, LocalCluster


def lookup(n):
    import builtins

    cache = builtins.__dict__.setdefault("_lookup_cache", {})
    cache[n] = np.ones(2_500_000)  # 20 MB
    time.sleep(0.15)
    return n


if __name__ == "__main__":
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MiB", dashboard_address=":0"
    ) as cluster:
        client = Client(cluster)
        found = client.map(lookup, range(60))
        print("looking up", len(found), flush=True)
        print(sum(client.gather(found)))
