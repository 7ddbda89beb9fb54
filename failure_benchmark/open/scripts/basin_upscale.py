"""Prepares the map of a basin for long, and then scales it up on a cluster."""

import os
import signal
import subprocess
import sys
import tempfile
import time

from dask.distributed import Client

DASK = os.path.join(os.path.dirname(sys.executable), "dask")


def prepare():
    begun, tiles = time.time(), 0
    while time.time() - begun < 20:
        tiles += sum(k % 7 for k in range(1000)) % 3
    return tiles


def scale(tile):
    return tile * 50


if __name__ == "__main__":
    file = os.path.join(tempfile.mkdtemp(), "scheduler.json")
    common = ["--scheduler-file", file]
    scheduler = [DASK, "scheduler", "--port", "0", "--dashboard-address", ":0", *common]
    scheduler += ["--idle-timeout", "14 s"]
    worker = [DASK, "worker", "--nthreads", "1", "--no-dashboard", *common]
    worker += ["--death-timeout", "40"]
    started = [
        subprocess.Popen(each, start_new_session=True)
        for each in (scheduler, worker, worker)
    ]
    try:
        while not os.path.exists(file):
            time.sleep(0.1)
        with Client(scheduler_file=file) as client:
            client.wait_for_workers(2, timeout=30)
            tiles = prepare()
            print(client.submit(scale, tiles).result(timeout=15))
    finally:
        for process in started:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
