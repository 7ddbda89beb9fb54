"""Grade the apricot lots of one packing day.

Every packhouse line delivers a CSV with one row per crate (weight, Brix, blush).
Lots are graded on a small private cluster that is started for the run and
stopped when the run is over.
"""

import csv
import logging
import pathlib
import subprocess
import sys
import time

from dask import delayed
from distributed import Client

log = logging.getLogger("packhouse")

LINES = ["north", "south", "river", "upper"]


class PackhouseCluster:
    """One scheduler and two workers, as plain processes of this host."""

    def __init__(self, n_workers=2):
        self.n_workers = n_workers
        self.scheduler = None
        self.workers = []
        self.address_file = pathlib.Path("packhouse-scheduler.json").absolute()

    def start(self):
        dask = [sys.executable, "-m", "dask"]
        self.scheduler = subprocess.Popen(
            dask
            + [
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--no-dashboard",
                "--scheduler-file",
                str(self.address_file),
            ]
        )
        for i in range(self.n_workers):
            self.workers.append(
                subprocess.Popen(
                    dask
                    + [
                        "worker",
                        "--scheduler-file",
                        str(self.address_file),
                        "--name",
                        f"line-{i}",
                        "--nthreads",
                        "2",
                        "--no-nanny",
                        "--no-dashboard",
                        "--memory-limit",
                        "300MB",
                    ]
                )
            )
        return self

    def stop(self):
        for w in self.workers:
            w.kill()
        for w in self.workers:
            w.wait()
        self.scheduler.terminate()
        self.scheduler.wait(10)


def write_intake(folder):
    """What the scales of the lines left on the share over night."""
    folder.mkdir(exist_ok=True)
    for n, line in enumerate(LINES):
        with open(folder / f"{line}.csv", "w", newline="") as f:
            out = csv.writer(f)
            out.writerow(["crate", "weight", "brix", "blush"])
            for crate in range(400):
                brix = f"{9 + (crate * (n + 3)) % 50 / 10:.2f}"
                if line == "river" and crate >= 212:
                    brix = brix.replace(".", ",")
                out.writerow([f"{line[0].upper()}{crate:04d}", 9.8, brix, crate % 4])


def read_crates(path):
    with open(path, newline="") as f:
        return list(csv.DictReader(f))


def sweetness(crates):
    return [float(c["brix"]) for c in crates]


def colour(crates):
    time.sleep(6)
    return sum(int(c["blush"]) for c in crates) / len(crates)


def grade(brix, blush):
    mean = sum(brix) / len(brix)
    return "extra" if mean > 11 and blush > 1 else "class I"


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    intake = pathlib.Path("intake").absolute()
    write_intake(intake)
    cluster = PackhouseCluster()
    client = None
    ok = False
    try:
        cluster.start()
        client = Client(scheduler_file=str(cluster.address_file), timeout=20)
        client.wait_for_workers(2, timeout=20)
        grades = []
        for line in LINES:
            crates = delayed(read_crates)(str(intake / f"{line}.csv"))
            grades.append(
                delayed(grade)(delayed(sweetness)(crates), delayed(colour)(crates))
            )
        futures = client.compute(grades)
        for line, result in zip(LINES, client.gather(futures)):
            log.info("%s: %s", line, result)
        ok = True
    except Exception as exc:
        log.error("grading did not finish: %s", type(exc).__name__)
    finally:
        log.info("stopping the cluster")
        cluster.stop()
        if client is not None:
            client.close(timeout=2)
    if not ok:
        log.error("no grades for today, labels cannot be printed")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
