"""Sessionise click batches; profiles are looked up once per user."""

import dask
import numpy as np
from dask.distributed import Client, LocalCluster, get_worker


def profile(user):
    return np.full(25_000, user % 97, dtype="float64")


def sessionise(batch):
    worker = get_worker()
    seen = getattr(worker, "profiles", None)
    if seen is None:
        seen = worker.profiles = {}
    total = 0.0
    for user in range(batch * 100, batch * 100 + 100):
        if user not in seen:
            seen[user] = profile(user)
        total += float(seen[user][:10].sum())
    return total


def main():
    settings = {
        "distributed.scheduler.allowed-failures": 0,
        "distributed.worker.memory.pause": False,
        "distributed.worker.memory.terminate": 0.9,
    }
    with dask.config.set(settings):
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="500MB",
            dashboard_address=None,
        ) as cluster:
            with Client(cluster) as client:
                futures = client.map(sessionise, range(200))
                print(sum(client.gather(futures)))


if __name__ == "__main__":
    main()
