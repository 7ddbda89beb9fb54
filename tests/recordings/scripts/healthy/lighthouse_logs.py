"""Lighthouse logs on command-line workers; one tower leaves the run early by its lifetime."""

import os
import socket
import subprocess
import sys
import tempfile
import time

from dask.distributed import Client


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def flashes(night):
    time.sleep(0.3)
    return night * 4


def main():
    os.environ["DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT"] = "5s"
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder:

        def dask_cmd(*args):
            return subprocess.Popen([sys.executable, "-m", "dask", *args], cwd=folder)

        procs = [
            dask_cmd(
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                str(port),
                "--no-dashboard",
            )
        ]
        for i, lifetime in enumerate(("7s", "120s")):
            procs.append(
                dask_cmd(
                    "worker",
                    address,
                    "--nthreads",
                    "1",
                    "--no-nanny",
                    "--no-dashboard",
                    "--name",
                    f"tower-{i}",
                    "--local-directory",
                    folder,
                    "--lifetime",
                    lifetime,
                )
            )
        try:
            with Client(address, timeout=20) as client:
                client.wait_for_workers(1, timeout=20)
                print("flashes", sum(client.gather(client.map(flashes, range(60)))))
        finally:
            for p in reversed(procs):
                p.terminate()
                try:
                    p.wait(10)
                except subprocess.TimeoutExpired:
                    p.kill()
                    p.wait(5)
    sys.exit(0)


if __name__ == "__main__":
    main()
