"""Look up optional settings; absence is expected."""

from dask.distributed import Client


def lookup(name):
    return {"region": "eu"}[name]


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        future = client.submit(lookup, "colour")
        print(type(future.exception()).__name__)
        print(client.submit(lookup, "region").result())
