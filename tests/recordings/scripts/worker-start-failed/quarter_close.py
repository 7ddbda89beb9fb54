"""Close the quarter on a scheduler of its own."""

import os
import socket
import subprocess
import sys
import tempfile
import time

import dask
from dask.distributed import Client


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def launch_scheduler(port, tmp):
    options = [
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--no-dashboard",
        "--idle-limit",
        "300",
    ]
    return subprocess.Popen(
        [sys.executable, "-m", "dask", "scheduler", *options], cwd=tmp
    )


def launch_worker(port, tmp):
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "dask",
            "worker",
            f"tcp://127.0.0.1:{port}",
            "--nthreads",
            "1",
            "--no-dashboard",
            "--death-timeout",
            "6",
        ],
        cwd=tmp,
    )


def journal_total(entity):
    return entity, sum(i * 13 % 101 for i in range(entity * 100))


def main():
    with tempfile.TemporaryDirectory() as tmp:
        port = free_port()
        procs = [launch_scheduler(port, tmp), launch_worker(port, tmp)]
        try:
            time.sleep(2)
            with dask.config.set({"distributed.comm.timeouts.connect": "8s"}):
                with Client(f"tcp://127.0.0.1:{port}") as client:
                    print(dict(client.gather(client.map(journal_total, range(1, 20)))))
        finally:
            for p in procs:
                p.terminate()
                p.wait(10)


if __name__ == "__main__":
    main()
