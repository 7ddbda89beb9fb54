"""Nightly stratification index of the fjord moorings on a scheduler and worker of our own."""

import logging
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from dask.distributed import Client

log = logging.getLogger("fjord")

NODE_ENV = """\
# compute nodes, written by the site installer
OMP_NUM_THREADS=1
MALLOC_ARENA_MAX=2
DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT=10s
DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION=True
DASK_DISTRIBUTED__WORKER__MEMORY__SPILL=0.8
"""


def read_env(path):
    env = dict(os.environ)
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, value = line.partition("=")
            env[name] = value
    return env


def casts(folder, moorings=8):
    rng = np.random.default_rng(77)
    for i in range(moorings):
        depth = np.arange(0, 200, 0.5)
        np.savez(
            folder / f"mooring{i}.npz",
            depth=depth,
            sigma=24
            + 3 / (1 + np.exp(-(depth - 20 - i) / 4))
            + rng.normal(0, 0.02, depth.size),
        )


def stratification(path):
    cast = np.load(path)
    return float(np.trapezoid(np.gradient(cast["sigma"], cast["depth"]), cast["depth"]))


def wait_for_file(path, seconds):
    end = time.monotonic() + seconds
    while not path.exists():
        if time.monotonic() > end:
            raise SystemExit("scheduler did not write its file")
        time.sleep(0.2)


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        casts(folder)
        (folder / "node.env").write_text(NODE_ENV)
        contact = folder / "scheduler.json"
        dask = [sys.executable, "-m", "dask"]
        procs = [
            subprocess.Popen(
                [
                    *dask,
                    "scheduler",
                    "--host",
                    "127.0.0.1",
                    "--port",
                    "0",
                    "--dashboard-address",
                    ":0",
                    "--scheduler-file",
                    str(contact),
                ]
            )
        ]
        try:
            wait_for_file(contact, 30)
            procs.append(
                subprocess.Popen(
                    [
                        *dask,
                        "worker",
                        "--scheduler-file",
                        str(contact),
                        "--nthreads",
                        "2",
                        "--no-dashboard",
                        "--local-directory",
                        tmp,
                    ],
                    env=read_env(folder / "node.env"),
                )
            )
            with Client(scheduler_file=str(contact), timeout=30) as client:
                client.wait_for_workers(1, timeout=30)
                index = client.gather(
                    client.map(stratification, sorted(map(str, folder.glob("*.npz"))))
                )
                log.info(
                    "index of %d moorings: %.3f to %.3f",
                    len(index),
                    min(index),
                    max(index),
                )
        finally:
            for proc in reversed(procs):
                proc.terminate()
                proc.wait(20)


if __name__ == "__main__":
    main()
