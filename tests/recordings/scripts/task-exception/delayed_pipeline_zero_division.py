"""A small pipeline of dask.delayed: load, two branches, combine."""

import time

from dask import compute, delayed
from dask.distributed import Client, LocalCluster


@delayed(pure=True)
def load(region):
    time.sleep(0.2)
    orders = {"north": [10, 20], "south": [5], "east": [], "west": [7, 7, 7]}
    return orders[region]


@delayed
def revenue(orders):
    return sum(orders)


@delayed
def average(total, orders):
    return total / len(orders)


@delayed
def combine(*averages):
    return max(averages)


def pipeline(region):
    orders = load(region)
    return average(revenue(orders), orders)


if __name__ == "__main__":
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    client = Client(cluster)
    best = combine(*[pipeline(r) for r in ("north", "south", "east", "west")])
    print(compute(best))
