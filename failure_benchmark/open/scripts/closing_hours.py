"""Counts visitors, and shuts down the cluster that other programs started."""

import os
import signal
import subprocess
import sys
import tempfile
import time

from dask.distributed import Client

DASK = os.path.join(os.path.dirname(sys.executable), "dask")


def visitors(day):
    time.sleep(0.1)
    return day % 30


if __name__ == "__main__":
    file = os.path.join(tempfile.mkdtemp(), "scheduler.json")
    common = ["--scheduler-file", file]
    scheduler = [DASK, "scheduler", "--port", "0", "--dashboard-address", ":0", *common]
    worker = [DASK, "worker", "--nthreads", "1", "--no-dashboard", *common]
    started = [
        subprocess.Popen(each, start_new_session=True)
        for each in (scheduler, worker, worker)
    ]
    try:
        while not os.path.exists(file):
            time.sleep(0.1)
        client = Client(scheduler_file=file)
        client.wait_for_workers(2, timeout=30)
        print(sum(client.gather(client.map(visitors, range(60)))))
        client.shutdown()
        for process in started:
            process.wait(20)
    finally:
        for process in started:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
