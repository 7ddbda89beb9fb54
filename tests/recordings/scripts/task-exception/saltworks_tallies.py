"""Evening tally of the salt pans.

Every pan sends a small CSV of readings (volume, density, harvested sacks).
The job starts its own small Dask farm, reads the pans, reduces them to one
tally per district and writes ``tally.json`` for the harbour office.
"""

import csv
import json
import logging
import os
import random
import subprocess
import sys
import time
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

import dask
from distributed import Client

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
)
log = logging.getLogger("saltworks")

DISTRICTS = {"north": 6, "lagoon": 5, "marsh": 7}


class Farm:
    """One scheduler and a few workers, started the way the old cron job did."""

    def __init__(self, folder, workers=2):
        self.folder = Path(folder)
        self.folder.mkdir(exist_ok=True)
        self.file = self.folder / "scheduler.json"
        self.processes = []
        self._start(
            "scheduler",
            "--port",
            "0",
            "--no-dashboard",
            "--host",
            "127.0.0.1",
            "--scheduler-file",
            str(self.file),
        )
        for _ in range(50):
            if self.file.exists():
                break
            time.sleep(0.2)
        for _ in range(workers):
            self._start(
                "worker",
                "--scheduler-file",
                str(self.file),
                "--nthreads",
                "1",
                "--no-dashboard",
                "--memory-limit",
                "300MB",
                "--local-directory",
                str(self.folder),
            )

    def _start(self, what, *args):
        out = open(self.folder / f"{what}-{len(self.processes)}.log", "w")
        self.processes.append(
            subprocess.Popen(
                [sys.executable, "-m", "dask", what, *args], stdout=out, stderr=out
            )
        )

    def stop(self):
        log.info("stopping the farm")
        for p in self.processes:  # scheduler first, as ever
            p.terminate()
        for p in self.processes:
            try:
                p.wait(6)
            except subprocess.TimeoutExpired:
                p.kill()


def write_readings(folder):
    rnd = random.Random(1127)
    paths = []
    for district, pans in DISTRICTS.items():
        for pan in range(1, pans + 1):
            path = Path(folder) / f"{district}-{pan:02d}.csv"
            with open(path, "w", newline="") as f:
                out = csv.writer(f)
                out.writerow(["hour", "volume", "density", "sacks"])
                for hour in range(24):
                    density = f"{1.2 + rnd.random() / 50:.4f}"
                    if (district, pan, hour) == ("marsh", 4, 17):
                        density = (
                            "1,2107"  # the hand-held meter was set to another language
                        )
                    out.writerow(
                        [hour, rnd.randrange(80, 120), density, rnd.randrange(0, 4)]
                    )
            paths.append(str(path.resolve()))
    return paths


def read_note(path):
    """The foreman's note of a pan, or nothing: most pans have none."""
    try:
        with open(path.replace(".csv", ".txt")) as f:
            return f.read()
    except FileNotFoundError:
        return ""


def brine_tonnes(path):
    time.sleep(0.2)
    total, sacks = Decimal(0), 0
    with open(path) as f:
        for row in csv.DictReader(f):
            total += Decimal(row["volume"]) * Decimal(row["density"])
            sacks += int(row["sacks"])
    return os.path.basename(path).split("-")[0], total, sacks, read_note(path)


def tally(parts):
    sums = defaultdict(lambda: [Decimal(0), 0])
    for district, tonnes, sacks, _ in parts:
        sums[district][0] += tonnes
        sums[district][1] += sacks
    return {k: [str(v[0]), v[1]] for k, v in sums.items()}


def main():
    dask.config.set(
        {"distributed.comm.timeouts.connect": "4s", "distributed.comm.retry.count": 0}
    )
    os.makedirs("pans", exist_ok=True)
    paths = write_readings("pans")
    farm = Farm("farm")
    client = Client(scheduler_file=str(farm.file), timeout=20)
    usage = {}
    try:
        client.wait_for_workers(2, timeout=25)
        parts = client.map(brine_tonnes, paths)
        result = client.submit(tally, parts).result()
        Path("tally.json").write_text(json.dumps(result))
        log.info("tally written for %d districts", len(result))
    finally:
        farm.stop()
        usage["workers"] = client.run_on_scheduler(
            lambda dask_scheduler: len(dask_scheduler.workers)
        )
        Path("usage.json").write_text(json.dumps(usage))
        client.close()


if __name__ == "__main__":
    main()
