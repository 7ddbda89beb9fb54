"""Grades of the cotton bales from the fibre scans of the day.

Runs on the gin's two boxes (`dask scheduler`, `dask worker`). The grading
library leaks in its first call, so a worker that has used it is replaced; one box
is handed to the day shift before the job ends.
"""

import argparse
import logging
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from distributed import Client, TimeoutError, wait

log = logging.getLogger("cotton")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def dask_cli(cwd, *args):
    return subprocess.Popen([sys.executable, "-m", "dask", *args], cwd=cwd)


def stop(processes):
    for proc in reversed(processes):
        if proc.poll() is None:
            proc.terminate()
    for proc in processes:
        try:
            proc.wait(12)
        except subprocess.TimeoutExpired:
            proc.kill()
            proc.wait()


def scan(bale):
    """Fibre lengths in millimetres."""
    time.sleep(0.3)
    return np.random.default_rng(bale).normal(28.5, 1.5, 20_000)


def grade(lengths, bale, flags):
    """The licence daemon ends the first process that asks for bale 5."""
    flag = Path(flags) / "licence-taken"
    if bale == 5 and not flag.exists():
        flag.touch()
        os._exit(17)
    time.sleep(0.3)
    return bale, "A" if lengths.mean() > 28.5 else "B"


def fibre_matrix(megabytes):
    """Peak of the job: the correlation of all scans."""
    block = np.ones(megabytes * 125_000)
    time.sleep(1.5)
    return float(block.mean())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bales", type=int, default=16)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    address = f"tcp://127.0.0.1:{free_port()}"
    processes = []
    with tempfile.TemporaryDirectory(prefix="cotton-") as root:
        try:
            processes.append(
                dask_cli(
                    root,
                    "scheduler",
                    "--host",
                    "127.0.0.1",
                    "--port",
                    address.rsplit(":", 1)[1],
                    "--dashboard-address",
                    "127.0.0.1:0",
                )
            )
            for box in ("gin-1", "gin-2"):
                processes.append(
                    dask_cli(
                        root,
                        "worker",
                        address,
                        "--name",
                        box,
                        "--nworkers",
                        "1",
                        "--nthreads",
                        "1",
                        "--memory-limit",
                        "240MB",
                        "--local-directory",
                        root,
                        "--dashboard-address",
                        "127.0.0.1:0",
                    )
                )
            with Client(address, timeout=60) as client:
                client.wait_for_workers(2, timeout=90)
                scans = client.map(scan, range(args.bales))
                grades = [client.submit(grade, s, n, root) for n, s in enumerate(scans)]
                try:
                    wait(grades, timeout=2)
                except TimeoutError:
                    log.warning("grading takes longer than usual, going on")
                wait(grades, timeout=90)
                result = dict(client.gather(grades))
                log.info(
                    "%d bales graded, %d of grade A",
                    len(result),
                    list(result.values()).count("A"),
                )

                client.wait_for_workers(2, timeout=60)
                leaving = sorted(client.scheduler_info()["workers"])[0]
                client.retire_workers([leaving], close_workers=True)
                log.warning("%s handed to the day shift", leaving)

                del scans, grades
                mean = client.submit(fibre_matrix, 75).result(timeout=90)
                log.info("correlation done (%.1f)", mean)
        finally:
            stop(processes)


if __name__ == "__main__":
    main()
