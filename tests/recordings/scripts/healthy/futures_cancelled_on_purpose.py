"""Cancel speculative work when the answer is known."""

import time

from dask.distributed import Client


def search(n):
    time.sleep(0.2 if n == 0 else 5)
    return n


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        futures = client.map(search, range(6))
        print(futures[0].result())
        client.cancel(futures[1:])
        print(client.submit(search, 0, pure=False).result())
