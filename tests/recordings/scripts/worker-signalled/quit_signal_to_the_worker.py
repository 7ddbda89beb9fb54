"""Somebody wants a thread dump of a worker and sends SIGQUIT, as one does to Java."""

import os
import signal
import threading
import time

from dask.distributed import Client


def resample(n):
    time.sleep(30 if n == 6 else 0.2)
    return n


def ask_for_dump(pid):
    time.sleep(5)
    os.kill(pid, signal.SIGQUIT)


if __name__ == "__main__":
    with Client(n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
        [pid] = client.run(os.getpid).values()
        threading.Thread(target=ask_for_dump, args=(pid,), daemon=True).start()
        print(client.gather(client.map(resample, range(10))))
