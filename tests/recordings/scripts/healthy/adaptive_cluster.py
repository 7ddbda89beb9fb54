"""An adaptive cluster grows and shrinks."""

import time

from dask.distributed import Client, LocalCluster


def work(n):
    time.sleep(0.4)
    return n


if __name__ == "__main__":
    with LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        cluster.adapt(minimum=1, maximum=2, interval="300ms", wait_count=2)
        with Client(cluster) as client:
            print(sum(client.gather(client.map(work, range(24)))))
            time.sleep(3)
            print(client.submit(work, 1).result())
