"""Number records with a shared counter."""

from dask.distributed import Client


def records():
    yield from range(100)


def first(n, source):
    return next(source) + n


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        source = records()
        print(client.submit(first, 1, source).result())
