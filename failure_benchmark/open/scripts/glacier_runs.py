"""Runs a model of glaciers; workers are renewed now and then, as the model leaks."""

import os
import signal
import subprocess
import sys
import tempfile
import time

from dask.distributed import Client

DASK = os.path.join(os.path.dirname(sys.executable), "dask")


def flow(glacier):
    for year in range(50):
        time.sleep(1)
    return glacier * 0.8


if __name__ == "__main__":
    file = os.path.join(tempfile.mkdtemp(), "scheduler.json")
    common = ["--scheduler-file", file]
    renewed = ["--lifetime", "15 seconds", "--lifetime-restart"]
    worker = [DASK, "worker", "--nthreads", "1", "--no-dashboard", *renewed, *common]
    commands = [
        [DASK, "scheduler", "--port", "0", "--dashboard-address", ":0", *common],
        worker,
        worker,
    ]
    env = {**os.environ, "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1"}
    started = [
        subprocess.Popen(each, env=env, start_new_session=True) for each in commands
    ]
    try:
        while not os.path.exists(file):
            time.sleep(0.1)
        with Client(scheduler_file=file) as client:
            client.wait_for_workers(2, timeout=60)
            print(sum(client.gather(client.map(flow, range(4)))))
    finally:
        for process in started:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
