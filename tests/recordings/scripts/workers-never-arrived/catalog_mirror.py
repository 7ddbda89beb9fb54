"""Synchronise the catalog with an elastic cluster."""

import os
import time

from dask.distributed import Client, LocalCluster


def limits():
    most = os.environ.get("CATALOG_WORKERS") or "0"
    return {"minimum": 0, "maximum": int(most)}


def sync(item):
    time.sleep(0.05)
    return item, item * 31 % 1009


def main():
    with (
        LocalCluster(
            n_workers=0, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        cluster.adapt(interval="500ms", **limits())
        futures = client.map(sync, range(60))
        synced = [f.result(timeout=10) for f in futures]
        print(len(synced), "items")


if __name__ == "__main__":
    main()
