"""Grades the mango trays of the ripening rooms; cluster processes as in the units of the two hosts."""

import argparse
import logging
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
from dask.distributed import Client

log = logging.getLogger("ripeness")

UNIT = {"name": "ripener", "threads": "1", "memory": "250MiB"}


def spawn(base, *words):
    return subprocess.Popen([sys.executable, "-m", "dask", *words], cwd=base)


def start_scheduler(base):
    address = os.path.join(base, "scheduler.json")
    process = spawn(
        base,
        "scheduler",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--dashboard-address",
        "127.0.0.1:0",
        "--scheduler-file",
        address,
    )
    return address, process


def start_worker(base, address, unit):
    return spawn(
        base,
        "worker",
        "--scheduler-file",
        address,
        "--name",
        unit["name"],
        "--nthreads",
        unit["threads"],
        "--memory-limit",
        unit["memory"],
        "--host",
        "127.0.0.1",
        "--local-directory",
        base,
    )


def stop(processes):
    for process in reversed(processes):
        if process.poll() is None:
            process.terminate()
    for process in processes:
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def tray_pixels(tray):
    rng = np.random.default_rng(tray)
    time.sleep(0.1)
    return rng.integers(0, 255, (120, 160, 3), dtype=np.uint8)


def grade(pixels):
    yellow = (pixels[..., 0].astype(int) + pixels[..., 1] - pixels[..., 2]).mean()
    return "ripe" if yellow > 127 else "green"


def grade_room(client, trays):
    futures = client.map(grade, client.map(tray_pixels, range(trays)))
    grades = client.gather(futures)
    return {name: grades.count(name) for name in ("ripe", "green")}


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=2)
    parser.add_argument("--trays", type=int, default=60)
    parser.add_argument("--patience", type=float, default=20.0)
    return parser.parse_args()


def main():
    args = parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    with tempfile.TemporaryDirectory(prefix="ripeness-") as base:
        address, scheduler = start_scheduler(base)
        processes = [scheduler]
        try:
            for host in range(args.hosts):
                log.info("starting the worker unit of host %d", host)
                processes.append(start_worker(base, address, UNIT))
                time.sleep(4)
            with Client(scheduler_file=address, timeout=20) as client:
                # the colour model is calibrated for both hosts, so we start only when all are there
                client.wait_for_workers(args.hosts, timeout=args.patience)
                log.info("graded: %s", grade_room(client, args.trays))
        finally:
            stop(processes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
