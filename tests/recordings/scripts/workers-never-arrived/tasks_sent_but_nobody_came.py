"""Submits at once and waits with a timeout; the workers' host is down."""

import subprocess
import sys
import tempfile

import dask.array as da
from dask.distributed import Client

if __name__ == "__main__":
    file = tempfile.mkdtemp() + "/scheduler.json"
    scheduler = subprocess.Popen(
        [sys.executable, "-m", "dask", "scheduler", "--port", "0"]
        + ["--dashboard-address", ":0", "--scheduler-file", file]
    )
    try:
        client = Client(scheduler_file=file)
        total = client.compute(da.ones((400, 400), chunks=100).sum())
        print(total.result(timeout=15))
    finally:
        scheduler.terminate()
        scheduler.wait()
