"""Our own scheduler and workers, which end with the script."""

import subprocess
import sys
import tempfile

import dask.bag as db
from dask.distributed import Client

DASK = [sys.executable, "-m", "dask"]


def main():
    file = tempfile.mkdtemp() + "/scheduler.json"
    processes = [
        subprocess.Popen(
            [
                *DASK,
                "scheduler",
                "--port",
                "0",
                "--no-dashboard",
                "--scheduler-file",
                file,
            ]
        )
    ]
    for _ in range(2):
        processes.append(
            subprocess.Popen(
                [*DASK, "worker", "--nthreads", "1", "--scheduler-file", file]
            )
        )
    try:
        with Client(scheduler_file=file) as client:
            client.wait_for_workers(2)
            squares = db.range(20_000, npartitions=10).map(lambda n: n * n)
            print(squares.sum().compute())
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            process.wait()


if __name__ == "__main__":
    main()
