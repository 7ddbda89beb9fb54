"""Counts the households of parishes from a file beside the script."""

import os
import signal
import subprocess
import sys
import tempfile
import time

import pandas as pd
from dask.distributed import Client

DASK = os.path.join(os.path.dirname(sys.executable), "dask")


def households(parish):
    table = pd.read_csv("census.csv")
    return int((table.parish == parish).sum())


if __name__ == "__main__":
    pd.DataFrame({"parish": [k % 8 for k in range(400)]}).to_csv("census.csv")
    print("households:", len(pd.read_csv("census.csv")))
    elsewhere = tempfile.mkdtemp()
    file = os.path.join(elsewhere, "scheduler.json")
    common = ["--scheduler-file", file]
    commands = [
        [DASK, "scheduler", "--port", "0", "--dashboard-address", ":0", *common]
    ]
    commands += [[DASK, "worker", "--nthreads", "1", "--no-dashboard", *common]] * 2
    started = [
        subprocess.Popen(each, cwd=elsewhere, start_new_session=True)
        for each in commands
    ]
    try:
        while not os.path.exists(file):
            time.sleep(0.1)
        with Client(scheduler_file=file) as client:
            client.wait_for_workers(2, timeout=30)
            print(client.gather(client.map(households, range(8))))
    finally:
        for process in started:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
