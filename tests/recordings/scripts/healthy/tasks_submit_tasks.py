"""Tasks submit tasks, as it is meant."""

from dask.distributed import Client, worker_client


def leaf(n):
    return n * n


def branch(n):
    with worker_client() as client:
        return sum(client.gather(client.map(leaf, range(n))))


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        print(client.gather(client.map(branch, range(2, 10))))
