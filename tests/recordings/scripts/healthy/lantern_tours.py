"""Seat plan of the evening lantern tours through the old town.

The compute machines are switched on for this job and join as they boot; the job starts with the first of them and
the others help as soon as they are there.
"""

import itertools
import logging
import math
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

from distributed import Client, as_completed

log = logging.getLogger("lantern_tours")
FILE = Path("lantern_scheduler.json")


class Machines:
    """Boots machines one after the other, in the background."""

    def __init__(self, delays, memory="300MB"):
        self.delays, self.memory = delays, memory
        self.children = []
        self.closing = threading.Event()
        self.scheduler = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "dask",
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--no-dashboard",
                "--scheduler-file",
                str(FILE),
            ]
        )
        self.thread = threading.Thread(target=self.boot, name="boot")
        self.thread.start()

    def boot(self):
        for number, delay in enumerate(self.delays):
            if self.closing.wait(delay):
                return
            log.info("machine %d is on", number)
            self.children.append(
                subprocess.Popen(
                    [
                        sys.executable,
                        "-m",
                        "dask",
                        "worker",
                        "--scheduler-file",
                        str(FILE),
                        "--nthreads",
                        "1",
                        "--no-dashboard",
                        "--name",
                        f"lantern-{number}",
                        "--memory-limit",
                        self.memory,
                        "--death-timeout",
                        "30",
                    ]
                )
            )

    def close(self):
        self.closing.set()
        self.thread.join()
        for child in self.children:
            child.terminate()
        for child in self.children:
            child.wait(15)
        self.scheduler.terminate()
        self.scheduler.wait(15)

    def __enter__(self):
        return self

    def __exit__(self, *details):
        self.close()


def stops(tour):
    rng = random.Random(tour)
    return [(rng.uniform(0, 900), rng.uniform(0, 700)) for _ in range(7)]


def shortest(points):
    """Best order of the stops; few enough to try them all."""
    time.sleep(0.25)  # the walking times are asked from the city's service
    first, *others = points
    best = min(
        itertools.permutations(others), key=lambda order: length([first, *order])
    )
    return [first, *best]


def length(points):
    return sum(math.dist(a, b) for a, b in zip(points, points[1:]))


def seats(route, capacity=24):
    guides = 2 if length(route) > 1400 else 1
    return {
        "metres": round(length(route)),
        "guides": guides,
        "seats": capacity - 2 * guides,
    }


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    with (
        Machines(delays=[0.5, 3, 3]) as machines,
        Client(scheduler_file=str(FILE), timeout=20) as client,
    ):
        client.wait_for_workers(1, timeout=30)
        routes = client.map(
            shortest,
            [stops(tour) for tour in range(60)],
            key=[f"shortest-{n}" for n in range(60)],
        )
        plans = client.map(seats, routes, key=[f"seats-{n}" for n in range(60)])
        total = 0
        for number, future in enumerate(as_completed(plans), 1):
            total += future.result()["seats"]
            if number % 20 == 0:
                log.info(
                    "%d tours planned, %d machines", number, len(client.nthreads())
                )
        log.info("%d seats in %d tours", total, len(plans))
        client.wait_for_workers(3, timeout=30)
        assert total > 0 and len(machines.children) == 3


if __name__ == "__main__":
    main()
