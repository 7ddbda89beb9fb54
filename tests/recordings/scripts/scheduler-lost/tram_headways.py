"""Tram headways: prepare the stop times locally, then fan out to the resident scheduler."""

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


def load_stop(i):
    return [i * 60 + k * 420 for k in range(20)]


def headway(times):
    return sum(b - a for a, b in zip(times, times[1:])) / (len(times) - 1)


def match_timetable(stops):
    for _ in range(24):
        time.sleep(0.5)
    return stops


def main():
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
                "--idle-timeout",
                "4s",
            ),
            dask_cmd(
                "worker",
                address,
                "--nthreads",
                "1",
                "--no-dashboard",
                "--no-nanny",
                "--death-timeout",
                "5",
                "--local-directory",
                folder,
            ),
        ]
        try:
            with dask.config.set(
                {
                    "distributed.comm.timeouts.connect": "5s",
                    "distributed.comm.retry.count": 0,
                }
            ):
                with Client(address, timeout=20) as client:
                    client.wait_for_workers(1, timeout=20)
                    stops = client.map(load_stop, range(10))
                    rows = client.gather(stops)
                    rows = match_timetable(rows)
                    print(client.gather(client.map(headway, rows)))
        finally:
            for p in reversed(procs):
                p.terminate()
                try:
                    p.wait(10)
                except subprocess.TimeoutExpired:
                    p.kill()
                    p.wait(5)


if __name__ == "__main__":
    main()
