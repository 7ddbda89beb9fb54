"""Prices containers with a rate that another task has computed."""

import time

from dask.distributed import Client


def exchange_rate() -> float:
    return 1.07


if __name__ == "__main__":
    with Client(n_workers=1, threads_per_worker=2) as client:
        rate = client.submit(exchange_rate)

        def in_euros(dollars: int) -> float:
            time.sleep(0.05)
            return dollars / rate.result()

        priced = client.map(in_euros, range(100, 140))
        print(sum(client.gather(priced)))
