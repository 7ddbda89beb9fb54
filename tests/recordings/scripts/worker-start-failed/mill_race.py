"""Turbine curves; the workers load the hydraulics table by a preload script."""

import os
import subprocess
import sys
import tempfile
import textwrap
import time

from dask.distributed import Client

PRELOAD = textwrap.dedent("""
    import os

    with open(os.path.join(os.environ["MILL_TABLES"], "wheel_v3.tbl")) as f:
        TABLE = dict(line.split() for line in f)

    def dask_setup(worker):
        worker.wheel_table = TABLE
""")


def efficiency(flow):
    return 0.7 - (flow - 3.0) ** 2 * 0.02


def main():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        pre = os.path.join(folder, "wheel_tables.py")
        with open(pre, "w") as f:
            f.write(PRELOAD)
        with open(os.path.join(folder, "wheel_v2.tbl"), "w") as f:
            f.write("pelton 0.9\nkaplan 0.93\n")
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
        env = dict(os.environ, MILL_TABLES=folder)
        try:
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
                        "--preload",
                        pre,
                        "--dashboard-address",
                        ":0",
                        "--local-directory",
                        folder,
                    ],
                    env=env,
                )
            )
            with Client(scheduler_file=sfile) as client:
                client.wait_for_workers(1, timeout=18)
                print(client.gather(client.map(efficiency, [1.0, 2.5, 4.0])))
        finally:
            for p in procs:
                if p.poll() is None:
                    p.terminate()
                try:
                    p.wait(6)
                except subprocess.TimeoutExpired:
                    p.kill()
                    p.wait()


if __name__ == "__main__":
    main()
