"""Berth slots for the tankers of the week on the two-process cluster of the port office."""

import contextlib
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

import numpy as np
from dask.distributed import Client

WORKER_ENV = {"DASK_DISTRIBUTED__WORKER__MEMORY__SPILL": "0.8"}
HOST_LABEL = "portoffice-1"  # operations filters its log search by this label


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def port_office(workers):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="port-office-"))
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    procs = []

    def launch(name, *args):
        out = open(folder / f"{name}.log", "w")
        procs.append(
            subprocess.Popen(
                [sys.executable, "-m", "dask", *args],
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**os.environ, **WORKER_ENV},
            )
        )

    launch(
        "scheduler",
        "scheduler",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--no-dashboard",
    )
    for i in range(workers):
        launch(
            f"worker-{i}",
            "worker",
            address,
            "--nthreads",
            "1",
            "--no-nanny",
            "--no-dashboard",
            "--name",
            HOST_LABEL,
            "--memory-limit",
            "600MiB",
            "--local-directory",
            str(folder),
        )
    try:
        yield address, folder
    finally:
        for p in reversed(procs):
            p.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                p.wait(8)


def assign(day, berths):
    rng = np.random.default_rng(day)
    draught = np.sort(rng.uniform(6, 17, 40))[::-1]
    free = np.zeros(berths)
    for d in draught:
        free[np.argmin(free)] += d / 2
    time.sleep(0.2)
    return day, float(free.max())


def main():
    with port_office(workers=2) as (address, folder):
        with Client(address, timeout=20) as client:
            client.wait_for_workers(2, timeout=15)
            for day, hours in client.gather(client.map(assign, range(7), berths=5)):
                print(f"day {day}: last tanker leaves after {hours:.1f} h")


if __name__ == "__main__":
    main()
