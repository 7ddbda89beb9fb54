"""Quarry loads with the monthly resilience drill: one worker is shot, the night must still succeed."""

import os
import signal
import time

from dask.distributed import Client, LocalCluster


def load(truck):
    time.sleep(0.25)
    return 18 + truck % 5


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            futures = client.map(load, range(24))
            time.sleep(1.5)
            pid = sorted(client.run(os.getpid).items())[0][1]
            print("drill: killing worker process", flush=True)
            os.kill(pid, signal.SIGKILL)
            print("tonnes", sum(client.gather(futures)))


if __name__ == "__main__":
    main()
