"""Averages the prices of orchards."""

from dask.distributed import Client


def price(orchard: int) -> float:
    return 2.0 + orchard % 5 / 10


if __name__ == "__main__":
    with Client(n_workers=1, threads_per_worker=2) as client:
        prices = client.gather(client.map(price, range(50)))
        print(sum(prices) / len(prices))
