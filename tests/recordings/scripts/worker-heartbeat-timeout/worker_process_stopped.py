"""Somebody stops a worker process (SIGSTOP), as a debugger or a freezer does."""

import os
import signal
import threading
import time

from dask.distributed import Client, LocalCluster


def smooth(n):
    time.sleep(0.5)
    return n


def stop_later(pid):
    time.sleep(3)
    os.kill(pid, signal.SIGSTOP)


if __name__ == "__main__":
    with LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            [pid] = client.run(os.getpid).values()
            threading.Thread(target=stop_later, args=(pid,), daemon=True).start()
            print(sum(client.gather(client.map(smooth, range(40)))))
