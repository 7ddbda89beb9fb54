"""Weighs the wagons of a depot with workers of the batch system."""

import os
import signal
import subprocess
import sys
import tempfile
import time

from dask.distributed import Client

DASK = os.path.join(os.path.dirname(sys.executable), "dask")


def weigh(wagon):
    return wagon * 1.5


if __name__ == "__main__":
    file = os.path.join(tempfile.mkdtemp(), "scheduler.json")
    # The front end has two networks, and the compute nodes reach only the second.
    scheduler = [DASK, "scheduler", "--host", "127.0.0.1", "--port", "18786"]
    scheduler += ["--dashboard-address", ":0", "--scheduler-file", file]
    worker = [DASK, "worker", "tcp://127.0.0.7:18786", "--nthreads", "1"]
    worker += ["--no-dashboard", "--death-timeout", "9"]
    started = [subprocess.Popen(scheduler, start_new_session=True)]
    try:
        while not os.path.exists(file):
            time.sleep(0.1)
        started += [subprocess.Popen(worker, start_new_session=True) for _ in range(2)]
        with Client("tcp://127.0.0.1:18786") as client:
            client.wait_for_workers(2, timeout=16)
            print(sum(client.gather(client.map(weigh, range(20)))))
    finally:
        for process in started:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
