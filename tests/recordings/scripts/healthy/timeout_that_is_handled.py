"""wait() times out; the driver goes on waiting, and succeeds."""

import time

from dask.distributed import Client, wait


def slow(n):
    time.sleep(3)
    return n


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        futures = client.map(slow, range(4))
        for _ in range(20):
            try:
                wait(futures, timeout=1)
                break
            except TimeoutError:
                print("not yet")
        print(client.gather(futures))
