"""Finds features of pictures with workers whose jobs may run for some seconds."""

import os
import signal
import subprocess
import sys
import tempfile
import time

import dask
from dask.distributed import Client, as_completed

DASK = os.path.join(os.path.dirname(sys.executable), "dask")


def features(picture):
    time.sleep(1)
    return picture % 17


if __name__ == "__main__":
    dask.config.set({"distributed.scheduler.allowed-failures": 0})
    file = os.path.join(tempfile.mkdtemp(), "scheduler.json")
    common = ["--scheduler-file", file]
    scheduler = [DASK, "scheduler", "--port", "0", "--dashboard-address", ":0", *common]
    worker = [DASK, "worker", "--nthreads", "1", "--no-dashboard", *common]
    # The batch system ends jobs at their walltime.
    worker = ["timeout", "28", *worker]
    env = {**os.environ, "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
    started = [
        subprocess.Popen(each, env=env, start_new_session=True)
        for each in (scheduler, worker, worker)
    ]
    try:
        while not os.path.exists(file):
            time.sleep(0.1)
        with Client(scheduler_file=file) as client:
            client.wait_for_workers(2, timeout=40)
            found = client.map(features, range(120))
            print(sum(future.result() for future in as_completed(found)))
    finally:
        for process in started:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
