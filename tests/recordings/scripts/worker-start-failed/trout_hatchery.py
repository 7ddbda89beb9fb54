"""Feed plan of a trout hatchery: own scheduler and one worker for each raceway building."""

import argparse
import logging
import os
import subprocess
import sys
import tempfile
import time

from distributed import Client

log = logging.getLogger("hatchery")

# building, name of its worker, threads
BUILDINGS = [
    ("north hall", "raceway-1", 1),
    ("south hall", "raceway-1", 1),
]

TANKS = [(f"tank {n}", 12 + n % 5, 400 + 37 * n) for n in range(30)]


def dask_command(*args):
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *args],
        env=dict(os.environ, PYTHONUNBUFFERED="1"),
    )


class Site:
    """The processes of one run."""

    def __init__(self, folder):
        self.folder = folder
        self.scheduler_file = os.path.join(folder, "scheduler.json")
        self.processes = []

    def start(self):
        self.processes.append(
            dask_command(
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--dashboard-address",
                ":0",
                "--scheduler-file",
                self.scheduler_file,
            )
        )
        self.wait_for_scheduler()
        for building, name, threads in BUILDINGS:
            log.info("start the worker of %s", building)
            self.processes.append(
                dask_command(
                    "worker",
                    "--scheduler-file",
                    self.scheduler_file,
                    "--name",
                    name,
                    "--nthreads",
                    str(threads),
                    "--memory-limit",
                    "250MB",
                    "--dashboard-address",
                    ":0",
                    "--local-directory",
                    self.folder,
                )
            )
            time.sleep(1)

    def wait_for_scheduler(self, patience=20):
        deadline = time.monotonic() + patience
        while not os.path.exists(self.scheduler_file):
            if time.monotonic() > deadline:
                raise RuntimeError("the scheduler did not write its file")
            time.sleep(0.2)

    def stop(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.terminate()
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def biomass(tank, grams, fish):
    time.sleep(0.1)
    return tank, grams * fish / 1000


def feed_of_tank(row, temperature):
    tank, kilos = row
    share = 0.008 + 0.0011 * max(0, temperature - 4)
    return tank, round(kilos * share, 2)


def make_plan(client, temperature):
    weights = [client.submit(biomass, *tank) for tank in TANKS]
    feeds = [client.submit(feed_of_tank, w, temperature) for w in weights]
    return dict(client.gather(feeds))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--temperature", type=float, default=9.5)
    parser.add_argument("--patience", type=float, default=20)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    with tempfile.TemporaryDirectory(prefix="hatchery-") as folder:
        site = Site(folder)
        try:
            site.start()
            with Client(scheduler_file=site.scheduler_file, timeout=20) as client:
                # both halls must take part, the plan is weighed by building
                client.wait_for_workers(len(BUILDINGS), timeout=args.patience)
                plan = make_plan(client, args.temperature)
                log.info("feed of today: %.1f kg", sum(plan.values()))
        finally:
            site.stop()


if __name__ == "__main__":
    main()
