"""Apiary audit: long mite counts on the shared scheduler, next to the nightly memory hygiene."""

import threading
import time

from dask.distributed import Client, LocalCluster


def mite_count(hive):
    for _ in range(12):
        time.sleep(0.1)
    return hive, hive % 13


def hygiene(address):
    time.sleep(4)
    with Client(address, set_as_default=False) as ops:
        print("hygiene: restarting workers", flush=True)
        ops.restart(timeout=20)


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=2, dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            t = threading.Thread(target=hygiene, args=(cluster.scheduler_address,))
            t.start()
            try:
                counts = client.map(mite_count, range(40))
                print(sum(n for _, n in client.gather(counts)))
            finally:
                t.join()


if __name__ == "__main__":
    main()
