"""Sediment budget of a salt marsh on a worker from the batch pool (which gives it a lifetime)."""

import os
import subprocess
import sys
import tempfile
import time

from dask.distributed import Client, wait

POOL = [
    "--nthreads",
    "1",
    "--no-nanny",
    "--dashboard-address",
    ":0",
    "--lifetime",
    "13s",
    "--name",
    "pool-a",
]


def settle(cell):
    time.sleep(2.0)
    return cell, cell * 0.013


def launch(folder):
    sfile = os.path.join(folder, "s.json")
    sched = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "distributed.cli.dask_scheduler",
            "--port",
            "0",
            "--dashboard-address",
            ":0",
            "--scheduler-file",
            sfile,
        ]
    )
    while not os.path.exists(sfile):
        time.sleep(0.1)
    worker = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "distributed.cli.dask_worker",
            "--scheduler-file",
            sfile,
            "--local-directory",
            folder,
            *POOL,
        ]
    )
    return sfile, [worker, sched]


def main():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        sfile, procs = launch(folder)
        client = Client(scheduler_file=sfile)
        try:
            client.wait_for_workers(1, timeout=60)
            cells = client.map(settle, range(14))
            wait(cells, timeout=17)
            print("budget", sum(v for _, v in client.gather(cells)))
        finally:
            for p in procs:
                if p.poll() is None:
                    p.terminate()
            for p in procs:
                try:
                    p.wait(4)
                except subprocess.TimeoutExpired:
                    p.kill()
                    p.wait()
            client.close(timeout=2)


if __name__ == "__main__":
    main()
