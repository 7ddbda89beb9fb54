"""Adds the squares of numbers, each number a task."""

from dask.distributed import Client, LocalCluster


def square(number):
    return number**2


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        numbers = client.scatter(list(range(12_000)))
        squares = client.map(square, numbers)
        print(client.submit(sum, squares).result())
