"""A watchdog thread cancels everything."""

import threading
import time

from dask.distributed import Client


def crunch(n):
    time.sleep(40)
    return n


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        futures = client.map(crunch, range(4))
        threading.Timer(6, lambda: client.cancel(futures)).start()
        print(client.gather(futures))
