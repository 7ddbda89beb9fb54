"""Deduplicate the voter rolls on workers that this job starts by command line."""

import contextlib
import os
import subprocess
import sys
import tempfile
import time

from dask.distributed import Client

WORKER_OPTIONS = ["--nthreads", "1", "--nworkers", "2", "--preload", "rolls_setup"]


@contextlib.contextmanager
def cluster(folder):
    info = os.path.join(folder, "rolls.json")
    shared = ["--scheduler-file", info, "--no-dashboard"]
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "dask", "scheduler", "--port", "0", *shared]
        )
    ]
    try:
        while not os.path.exists(info):
            time.sleep(0.2)
        running.append(
            subprocess.Popen(
                [sys.executable, "-m", "dask", "worker", *shared, *WORKER_OPTIONS]
            )
        )
        yield info
    finally:
        for process in reversed(running):
            if process.poll() is None:
                process.terminate()
            process.wait(20)


def normalise(name):
    return " ".join(name.upper().split())


def main():
    names = [f"Ann  Mc{chr(65 + n % 20)}ay" for n in range(300)]
    with tempfile.TemporaryDirectory() as folder:
        with cluster(folder) as info:
            with Client(scheduler_file=info, timeout=20) as client:
                client.wait_for_workers(2, timeout=20)
                print(len(set(client.gather(client.map(normalise, names)))))


if __name__ == "__main__":
    main()
