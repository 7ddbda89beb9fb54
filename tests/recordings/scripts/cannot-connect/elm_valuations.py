"""Valuation of standing timber: a rehearsal on a few plots, then the run over the whole estate."""

import argparse
import json
import logging
import pathlib
import subprocess
import sys
import time

from dask.distributed import Client

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
log = logging.getLogger("elm")

RUN = pathlib.Path("run")


class Stand:
    """A scheduler and its workers for one stage."""

    def __init__(self, stage, file):
        self.stage = stage
        self.file = RUN / file
        self.children = []

    def _spawn(self, *args):
        with open(RUN / f"{self.stage}-{len(self.children)}.log", "w") as out:
            child = subprocess.Popen(
                [sys.executable, "-m", "dask", *args], stdout=out, stderr=out
            )
        self.children.append(child)

    def up(self, workers):
        self._spawn(
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            str(self.file),
        )
        for index in range(workers):
            self._spawn(
                "worker",
                "--scheduler-file",
                str(self.file),
                "--no-nanny",
                "--nthreads",
                "1",
                "--no-dashboard",
                "--memory-limit",
                "300MB",
                "--name",
                f"{self.stage}-{index}",
                "--local-directory",
                str(RUN / f"{self.stage}-{index}"),
            )
        log.info("%s: %d processes started", self.stage, len(self.children))

    def down(self):
        # the stands have no state worth keeping, so do not wait for a polite end
        for child in self.children:
            child.kill()
        for child in self.children:
            child.wait()
        log.info("%s: down", self.stage)


def wait_for_file(path, seconds=15):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if path.exists() and path.stat().st_size:
            return json.loads(path.read_text())["address"]
        time.sleep(0.1)
    raise RuntimeError(f"{path} was not written")


def volume(plot):
    girth = 0.9 + (plot * 37 % 60) / 100
    height = 14 + plot % 9
    return round(girth**2 / 12.57 * height * 0.45 * 120, 2)


def value(cubic, price):
    return cubic * price


def appraise(client, plots, price):
    volumes = client.map(volume, plots)
    return client.submit(sum, client.map(value, volumes, price=price)).result(
        timeout=30
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--price", type=float, default=41.5)
    args = parser.parse_args()
    RUN.mkdir(exist_ok=True)

    rehearsal = Stand("rehearsal", "scheduler.json")
    rehearsal.up(1)
    try:
        log.info("rehearsal at %s", wait_for_file(rehearsal.file))
        with Client(scheduler_file=str(rehearsal.file), timeout=20) as client:
            log.info("rehearsal: %.2f", appraise(client, range(10), args.price))
    finally:
        rehearsal.down()

    estate = Stand("estate", "scheduler-estate.json")
    estate.up(2)
    try:
        address = wait_for_file(RUN / "scheduler.json")
        log.info("estate at %s", address)
        with Client(address, timeout=8) as client:
            log.info("estate: %.2f", appraise(client, range(500), args.price))
    finally:
        estate.down()


if __name__ == "__main__":
    main()
