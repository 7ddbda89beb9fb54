"""Two stages with a long local step between them."""

import subprocess
import sys
import tempfile
import time

import dask.array as da
from dask.distributed import Client


def main():
    file = tempfile.mkdtemp() + "/scheduler.json"
    words = ["--port", "0", "--no-dashboard", "--idle-timeout", "6s"]
    scheduler = subprocess.Popen(
        [sys.executable, "-m", "dask", "scheduler", *words, "--scheduler-file", file]
    )
    worker = subprocess.Popen(
        [sys.executable, "-m", "dask", "worker", "--scheduler-file", file]
        + ["--nworkers", "2", "--nthreads", "1"]
    )
    try:
        client = Client(scheduler_file=file)
        x = da.random.random((4000, 2000), chunks=(500, 2000))
        coarse = x.mean(axis=0).compute()
        print("fitting", coarse.shape, "locally")
        begun = time.time()
        while time.time() - begun < 12:  # a fit that has nothing to do with Dask
            sum(n * n for n in range(10_000))
        fine = (x - coarse).std(axis=0).compute()
        print(fine[:3])
    finally:
        worker.terminate()
        worker.wait()
        scheduler.terminate()
        scheduler.wait()


if __name__ == "__main__":
    main()
