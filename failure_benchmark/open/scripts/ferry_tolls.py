"""Sums the tolls of ferries on a cluster that runs already."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

from dask.distributed import Client

DASK = os.path.join(os.path.dirname(sys.executable), "dask")


def toll(ferry):
    return ferry * 12 % 7


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


if __name__ == "__main__":
    port = free_port()
    file = os.path.join(tempfile.mkdtemp(), "scheduler.json")
    common = ["--scheduler-file", file]
    shown = ["--dashboard-address", f"127.0.0.1:{port}"]
    commands = [
        [DASK, "scheduler", "--host", "127.0.0.1", "--port", "0", *shown, *common],
        [DASK, "worker", "--nthreads", "1", "--no-dashboard", *common],
    ]
    started = [subprocess.Popen(each, start_new_session=True) for each in commands]
    try:
        while not os.path.exists(file):
            time.sleep(0.1)
        # The address that the browser shows.
        with Client(f"tcp://127.0.0.1:{port}") as client:
            print(sum(client.gather(client.map(toll, range(30)))))
    finally:
        for process in started:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
