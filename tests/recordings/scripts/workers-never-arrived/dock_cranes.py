"""Crane moves: joins workers to the scheduler whose address stands in the shared scheduler file."""

import json
import os
import socket
import subprocess
import sys
import tempfile

from dask.distributed import Client, LocalCluster


def moves_per_hour(crane):
    return crane, 24 + crane % 5


def old_scheduler_file(folder):
    # what last night's scheduler left on the share; nobody listens there any more
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    path = os.path.join(folder, "scheduler.json")
    with open(path, "w") as f:
        json.dump(
            {
                "type": "Scheduler",
                "id": "Scheduler-night",
                "address": f"tcp://127.0.0.1:{port}",
                "workers": {},
            },
            f,
        )
    return path


def main():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        sfile = old_scheduler_file(folder)
        with (
            LocalCluster(n_workers=0, dashboard_address=":0") as cluster,
            Client(cluster) as client,
        ):
            workers = [
                subprocess.Popen(
                    [
                        sys.executable,
                        "-m",
                        "distributed.cli.dask_worker",
                        "--scheduler-file",
                        sfile,
                        "--nthreads",
                        "1",
                        "--no-nanny",
                        "--dashboard-address",
                        ":0",
                        "--death-timeout",
                        "25",
                        "--local-directory",
                        folder,
                        "--name",
                        f"crane-{i}",
                    ]
                )
                for i in range(2)
            ]
            try:
                futures = client.map(moves_per_hour, range(10))
                client.wait_for_workers(2, timeout=15)
                print(client.gather(futures))
            finally:
                for w in workers:
                    w.terminate()
                for w in workers:
                    try:
                        w.wait(6)
                    except subprocess.TimeoutExpired:
                        w.kill()
                        w.wait()


if __name__ == "__main__":
    main()
