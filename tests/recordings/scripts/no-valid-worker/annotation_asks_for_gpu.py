"""Train on a GPU that no worker offers."""

import dask
from dask.distributed import Client


def train(n):
    return n


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        with dask.annotate(resources={"GPU": 1}):
            work = dask.delayed(train)(3)
        print(client.compute(work, optimize_graph=False).result(timeout=15))
