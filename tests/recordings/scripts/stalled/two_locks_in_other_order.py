"""Move stock between two shops, under a lock for each."""

import time

from dask.distributed import Client, Lock


def move(source, target, n):
    with Lock(source):
        time.sleep(2)
        with Lock(target):
            return n


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        there = client.submit(move, "stock-berlin", "stock-paris", 5)
        back = client.submit(move, "stock-paris", "stock-berlin", 3)
        print(there.result(timeout=20), back.result(timeout=20))
