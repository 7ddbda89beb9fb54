"""Water levels from flow measurements; the curves live in a module next to the job."""

import os
import subprocess
import sys
import tempfile
import textwrap
import time

from dask.distributed import Client

CURVES = textwrap.dedent("""
    def level_from_flow(q, width=2.4):
        return (q / (1.7 * width)) ** (2 / 3)
""")


def main():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        lib = os.path.join(folder, "lib")
        os.mkdir(lib)
        with open(os.path.join(lib, "flow_curves.py"), "w") as f:
            f.write(CURVES)
        sys.path.insert(0, lib)
        import flow_curves

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
                ],
                cwd=folder,
            )
        ]
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
                        "--dashboard-address",
                        ":0",
                        "--local-directory",
                        folder,
                    ],
                    cwd=folder,
                )
            )
            with Client(scheduler_file=sfile) as client:
                client.wait_for_workers(1, timeout=60)
                flows = [0.4 + 0.1 * i for i in range(12)]
                levels = client.gather(client.map(flow_curves.level_from_flow, flows))
                print(max(levels))
        finally:
            for p in procs:
                p.terminate()
            for p in procs:
                try:
                    p.wait(6)
                except subprocess.TimeoutExpired:
                    p.kill()
                    p.wait()


if __name__ == "__main__":
    main()
