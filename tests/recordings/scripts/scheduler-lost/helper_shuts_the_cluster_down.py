"""A helper of the driver closes what it believes to be its own cluster."""

import threading
import time

from dask.distributed import Client, LocalCluster


def crunch(n):
    time.sleep(1)
    return n


def progress(address):
    with Client(address, set_as_default=False) as client:
        time.sleep(6)
        print(client.scheduler_info()["id"])
        client.shutdown()


if __name__ == "__main__":
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        client = Client(cluster)
        thread = threading.Thread(target=progress, args=(cluster.scheduler_address,))
        thread.start()
        print(sum(client.gather(client.map(crunch, range(60)))))
