"""Occupancy of the hostels per night, from the bookings of all houses.

The pool runs on this host behind a firewall that lets only a few ports through, so workers listen on
a fixed range.
"""

import contextlib
import datetime as dt
import logging
import random
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from dask.distributed import Client, as_completed

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("hostels")


@dataclass
class Pool:
    workers: int
    first_port: int
    last_port: int
    scheduler_port: int

    @property
    def address(self):
        return f"tcp://127.0.0.1:{self.scheduler_port}"


def open_range(length):
    """Find a free range of neighbouring ports, as the firewall team would assign it."""
    rng = random.Random()
    while True:
        start = rng.randrange(42000, 52000)
        with contextlib.ExitStack() as stack:
            try:
                for port in range(start, start + length):
                    sock = stack.enter_context(socket.socket())
                    sock.bind(("127.0.0.1", port))
            except OSError:
                continue
            return start


@contextlib.contextmanager
def running(pool, folder):
    processes = []

    def start(name, *args):
        out = open(folder / f"{name}.log", "w")
        command = [sys.executable, "-m", "dask", *args]
        processes.append(
            (name, subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT))
        )

    start(
        "scheduler",
        "scheduler",
        "--host",
        "127.0.0.1",
        "--port",
        str(pool.scheduler_port),
        "--dashboard-address",
        "127.0.0.1:0",
    )
    for number in range(pool.workers):
        start(
            f"worker-{number}",
            "worker",
            pool.address,
            "--no-nanny",
            "--nthreads",
            "1",
            "--host",
            "127.0.0.1",
            "--no-dashboard",
            "--memory-limit",
            "300MB",
            "--worker-port",
            f"{pool.first_port}:{pool.last_port}",
            "--name",
            f"hostel-{number}",
            "--local-directory",
            str(folder / f"w{number}"),
        )
    try:
        yield
    finally:
        for name, process in reversed(processes):
            process.terminate()
        for name, process in processes:
            process.wait(10)
            log.info("%s stopped", name)


def read_bookings(house, month):
    rng = random.Random(f"{house}{month}")
    first = dt.date.fromisoformat(month + "-01")
    return [
        (first + dt.timedelta(days=rng.randrange(28)), rng.randint(1, 9))
        for _ in range(300)
    ]


def nights(house, bookings):
    beds = {}
    for day, length in bookings:
        for offset in range(length):
            night = day + dt.timedelta(days=offset)
            beds[night] = beds.get(night, 0) + 1
    return house, max(beds.values())


def main():
    start = open_range(3)
    pool = Pool(
        workers=3, scheduler_port=start, first_port=start + 1, last_port=start + 2
    )
    folder = Path("hostel_run")
    folder.mkdir(exist_ok=True)
    with running(pool, folder):
        with Client(pool.address, timeout=20) as client:
            log.info("waiting for %d workers", pool.workers)
            client.wait_for_workers(pool.workers, timeout=14)
            houses = ["Lisbon", "Porto", "Braga", "Faro", "Evora"]
            futures = []
            for house in houses:
                bookings = client.submit(read_bookings, house, "2026-11")
                futures.append(client.submit(nights, house, bookings))
            for future in as_completed(futures):
                log.info("%s: at most %d beds", *future.result())


if __name__ == "__main__":
    main()
