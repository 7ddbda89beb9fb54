"""A watchdog thread of the driver ends the process when the budget is used up."""

import os
import threading
import time

from dask.distributed import Client


def crunch(n):
    end = time.monotonic() + 1
    while time.monotonic() < end:
        n = (n * 31 + 7) % 1_000_003
    return n


def watchdog(seconds):
    time.sleep(seconds)
    os._exit(75)


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        threading.Thread(target=watchdog, args=(8,), daemon=True).start()
        print(sum(client.gather(client.map(crunch, range(100)))))
