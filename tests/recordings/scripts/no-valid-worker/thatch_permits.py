"""Two batches of thatching permits on workers that are rented per batch."""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dask.distributed import Client


def start(folder, *command):
    log = open(folder / "cluster.log", "ab")
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *command],
        cwd=folder,
        env=dict(os.environ),
        stdout=log,
        stderr=log,
    )


def stop(processes):
    for process in processes:
        process.terminate()
    for process in processes:
        process.wait(timeout=60)


def rent(folder, address, count):
    return [
        start(
            folder,
            "worker",
            "--scheduler-file",
            address,
            "--nthreads",
            "1",
            "--memory-limit",
            "400MB",
            "--local-directory",
            str(folder),
        )
        for _ in range(count)
    ]


def inspect_roof(permit):
    time.sleep(0.2)
    return permit, 25 + permit % 40


def grade_roof(inspected):
    time.sleep(0.2)
    permit, angle = inspected
    return permit, "steep" if angle > 45 else "flat"


def first_batch(client, folder, address):
    workers = rent(folder, address, 2)
    try:
        client.wait_for_workers(2, timeout=120)
        return client.gather(client.map(inspect_roof, range(30)))
    finally:
        stop(workers)


def second_batch(client, inspected):
    futures = client.map(grade_roof, inspected)
    return [future.result(timeout=15) for future in futures]


def main():
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        address = str(folder / "scheduler.json")
        scheduler = start(
            folder,
            "scheduler",
            "--port",
            "0",
            "--dashboard-address",
            ":0",
            "--scheduler-file",
            address,
        )
        stack.callback(stop, [scheduler])
        client = stack.enter_context(Client(scheduler_file=address, timeout=60))
        inspected = first_batch(client, folder, address)
        print("inspected:", len(inspected))
        graded = second_batch(client, inspected)
        print("steep roofs:", sum(kind == "steep" for _, kind in graded))


if __name__ == "__main__":
    main()
