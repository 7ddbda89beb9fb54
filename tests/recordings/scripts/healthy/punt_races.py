"""Runs a heat of punt races on a scheduler and worker of its own and stops both at the end."""

import os
import subprocess
import sys
import tempfile
import time

from dask.distributed import Client


def heat(punt):
    time.sleep(0.2)
    return 61.0 + (punt * 7) % 5


def main():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        sfile = os.path.join(folder, "s.json")
        procs = [
            subprocess.Popen(
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
        ]
        while not os.path.exists(sfile):
            time.sleep(0.1)
        procs.append(
            subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "distributed.cli.dask_worker",
                    "--scheduler-file",
                    sfile,
                    "--nthreads",
                    "2",
                    "--no-nanny",
                    "--dashboard-address",
                    ":0",
                    "--local-directory",
                    folder,
                ]
            )
        )
        try:
            with Client(scheduler_file=sfile) as client:
                times = client.gather(client.map(heat, range(10)))
                print("fastest", min(times))
        finally:
            for p in reversed(procs):
                p.terminate()
                try:
                    p.wait(10)
                except subprocess.TimeoutExpired:
                    p.kill()
                    p.wait()


if __name__ == "__main__":
    main()
