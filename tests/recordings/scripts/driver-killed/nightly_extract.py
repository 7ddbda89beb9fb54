"""Extract per-tenant usage; the batch system ends jobs that outlive their slot."""

import os
import signal
import threading
import time

from dask.distributed import Client, LocalCluster, as_completed

TENANTS = {"acme": 60, "blue": 40, "corex": 25, "delta": 6000, "evo": 30, "fern": 55}


def usage(tenant, rows):
    total = 0
    for i in range(rows):
        time.sleep(0.01)
        total += i % 7
    return tenant, total


def batch_system(seconds):
    """Stand-in for the slot controller of the batch host."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGTERM))
    timer.daemon = True
    timer.start()


def main():
    batch_system(11)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        futures = [
            client.submit(usage, t, n, key=f"usage-{t}") for t, n in TENANTS.items()
        ]
        for future in as_completed(futures):
            print("extracted", *future.result(), flush=True)


if __name__ == "__main__":
    main()
