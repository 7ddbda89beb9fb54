#!/usr/bin/env python
"""Plan the overnight charging of an electric bus fleet, depot by depot.

The launcher starts a scheduler and two workers; each worker loads the tariff of its grid zone once, in
``warm_tariffs.py``, so that tasks find it in memory.  Workers that end are started again, at most twice each.
"""

import configparser
import logging
import os
import pathlib
import subprocess
import sys
import textwrap
import threading
import time

from distributed import Client

log = logging.getLogger("charging")

SETTINGS = """
[grid]
zone = DK2
tariff_file = tariffs/DK2.csv

[fleet]
depots = 12
buses = 40
"""

PRELOAD = """
import csv
import logging
import os

log = logging.getLogger("distributed.warm_tariffs")


def load_tariff(path, valid_from):
    with open(path) as f:
        rows = [r for r in csv.DictReader(f) if r["valid_from"] >= valid_from]
    return {int(r["hour"]): float(r["price"]) for r in rows}


TARIFF = load_tariff(os.environ["GRID_TARIFF_FILE"], os.environ.get("GRID_VALID_FROM", "2026-11-01"))
CHEAPEST = min(TARIFF, key=TARIFF.get)


async def dask_setup(worker):
    worker.tariff = TARIFF
    log.info("tariff of %d hours, cheapest at %d h", len(TARIFF), CHEAPEST)
"""


def plan_depot(depot, buses):
    from distributed import get_worker

    tariff = get_worker().tariff
    hours = sorted(tariff, key=tariff.get)[:6]
    return depot, sum(60 * tariff[h] for h in hours) * buses / 6


class Launcher:
    """Keeps `count` workers running."""

    def __init__(self, count, env, restarts=2):
        self.count, self.env, self.restarts = count, env, restarts
        self.stopping = False
        self.procs = []
        self.threads = []

    def __enter__(self):
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
                "fleet.json",
            ]
        )
        for i in range(self.count):
            t = threading.Thread(target=self._keep, args=(i,), daemon=True)
            t.start()
            self.threads.append(t)
        return self

    def _keep(self, i):
        for attempt in range(1 + self.restarts):
            proc = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "dask",
                    "worker",
                    "--scheduler-file",
                    "fleet.json",
                    "--name",
                    f"planner-{i}",
                    "--nthreads",
                    "1",
                    "--no-dashboard",
                    "--preload",
                    "warm_tariffs.py",
                    "--no-nanny",
                ],
                env=self.env,
            )
            self.procs.append(proc)
            code = proc.wait()
            if self.stopping:
                return
            log.warning("planner-%d ended with %d (start %d)", i, code, attempt + 1)

    def __exit__(self, *exc):
        self.stopping = True
        for p in self.procs + [self.scheduler]:
            if p.poll() is None:
                p.terminate()
        for p in self.procs + [self.scheduler]:
            try:
                p.wait(5)
            except subprocess.TimeoutExpired:
                p.kill()


def main():
    logging.basicConfig(level=logging.INFO)
    pathlib.Path("warm_tariffs.py").write_text(PRELOAD)
    settings = configparser.ConfigParser()
    settings.read_string(textwrap.dedent(SETTINGS))
    tariff_file = pathlib.Path(settings["grid"]["tariff_file"])
    tariff_file.parent.mkdir(exist_ok=True)
    # the grid operator publishes with the summer and the winter season
    tariff_file.write_text(
        "hour,price,valid_from\n"
        + "".join(f"{h},{0.1 + (h % 7) / 50:.3f},2026-04-01\n" for h in range(24))
    )
    env = dict(
        os.environ,
        GRID_TARIFF_FILE=str(tariff_file.resolve()),
        GRID_VALID_FROM="2026-10-01",
    )

    with (
        Launcher(2, env) as launcher,
        Client(scheduler_file="fleet.json", timeout=15) as client,
    ):
        client.wait_for_workers(2, timeout=18)
        started = time.time()
        futures = client.map(
            plan_depot,
            range(settings.getint("fleet", "depots")),
            buses=settings.getint("fleet", "buses"),
        )
        total = sum(cost for _, cost in client.gather(futures))
        log.info("cost of the night: %.2f (%.1f s)", total, time.time() - started)


if __name__ == "__main__":
    main()
