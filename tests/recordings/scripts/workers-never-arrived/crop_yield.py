"""Crop yield regression over field blocks on a stand-alone cluster."""

import os
import re
import subprocess
import sys
import tempfile
import time

import numpy as np
from dask.distributed import Client


def launch(root):
    sched_log = os.path.join(root, "scheduler.log")
    out = open(sched_log, "w")
    scheduler = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "dask",
            "scheduler",
            "--port",
            "0",
            "--no-dashboard",
            "--host",
            "127.0.0.1",
        ],
        stdout=out,
        stderr=subprocess.STDOUT,
    )
    for _ in range(100):
        found = re.search(r"Scheduler at:\s+(tcp://\S+)", open(sched_log).read())
        if found:
            break
        time.sleep(0.2)
    address = found.group(1)
    workers = []
    for i in range(2):
        log = open(os.path.join(root, f"worker{i}.log"), "w")
        workers.append(
            subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "dask",
                    "worker",
                    address,
                    "--nthreads",
                    "1",
                    "--memory-max",
                    "500MB",
                    "--no-dashboard",
                ],
                stdout=log,
                stderr=log,
            )
        )
    return address, [scheduler] + workers


def block(number):
    rng = np.random.default_rng(number)
    x = rng.random((2000, 5))
    return x, x @ np.arange(1, 6) + rng.normal(size=2000)


def normal_equations(xy):
    x, y = xy
    return x.T @ x, x.T @ y


def main():
    with tempfile.TemporaryDirectory() as root:
        address, processes = launch(root)
        try:
            with Client(address) as client:
                parts = client.map(normal_equations, client.map(block, range(16)))
                client.wait_for_workers(2, timeout=12)
                parts = client.gather(parts)
                a, b = sum(p[0] for p in parts), sum(p[1] for p in parts)
                print("coefficients", np.linalg.solve(a, b).round(2))
        finally:
            for process in processes:
                process.terminate()


if __name__ == "__main__":
    main()
