"""A hand-written graph, two entries of which need each other."""

from operator import add, mul

from dask.distributed import Client

GRAPH = {
    "price": (add, "base", "tax"),
    "base": 100,
    "tax": (mul, "gross", 0.2),
    "gross": (add, "price", 1),
}

if __name__ == "__main__":
    with Client(n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
        print(client.get(GRAPH, "gross"))
