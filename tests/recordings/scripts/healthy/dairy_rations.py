"""Dairy rations: two stages with a clean restart of the workers between them."""

import time

import numpy as np
from dask.distributed import Client, LocalCluster


def ration(cow):
    time.sleep(0.05)
    return float(np.ones(200_000).sum()) * 1e-5 * cow


def cost(kg):
    return round(kg * 0.31, 2)


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            rations = client.gather(client.map(ration, range(30)))
            left = client.map(ration, range(30, 60))
            print("restarting the workers between the stages, open rations are dropped")
            client.restart(timeout=30)
            print("dropped:", {f.status for f in left})
            print("cost", sum(client.gather(client.map(cost, rations))))


if __name__ == "__main__":
    main()
