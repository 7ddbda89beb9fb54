"""A long batch that the platform ends for its own reasons."""

import time

from dask.distributed import Client, LocalCluster


def step(n):
    time.sleep(0.5)
    return n


if __name__ == "__main__":
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        client = Client(cluster)
        futures = client.map(step, range(200))
        futures[3].result()
        print("batch is running", flush=True)
        client.gather(futures)
