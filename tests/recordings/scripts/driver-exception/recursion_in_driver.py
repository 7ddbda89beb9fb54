"""Walk a tree of categories in the driver."""

from dask.distributed import Client


def depth(tree):
    return 1 + depth(tree)


def stage(n):
    return n


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        print(client.submit(stage, 3).result())
        print(depth({}))
