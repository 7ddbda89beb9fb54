"""Nightly wear report for the anchor chains of a tug fleet.

Every vessel hands in the diameters of its links, measured in dry dock.  The report computes the wear of
each chain against its class certificate and writes one line per vessel for the surveyor.

The job brings its own scheduler and workers, since the yard's machine has no cluster manager.
"""

import argparse
import contextlib
import csv
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from distributed import Client

CERTIFICATES = {
    "stud-u2": {"nominal": 46.0, "allowed": 0.11},
    "stud-u3": {"nominal": 54.0, "allowed": 0.11},
    "studless-r3": {"nominal": 62.0, "allowed": 0.10},
}


class YardReportError(RuntimeError):
    """The report of the yard could not be finished."""


def write_measurements(folder, vessels):
    rnd = random.Random(8)
    kinds = sorted(CERTIFICATES)
    for number in range(vessels):
        grade = kinds[number % len(kinds)]
        if number == 7:
            grade = "stud-u3s"  # came with the vessel's previous owner
        with open(folder / f"tug_{number:02d}.csv", "w", newline="") as handle:
            out = csv.writer(handle)
            out.writerow(["link", "grade", "diameter_mm"])
            for link in range(180):
                out.writerow([link, grade, round(45 + rnd.random() * 10, 2)])


def read_links(path):
    with open(path, newline="") as handle:
        return list(csv.DictReader(handle))


def chain_wear(links):
    worst = 0.0
    for link in links:
        certificate = CERTIFICATES[link["grade"]]
        lost = 1 - float(link["diameter_mm"]) / certificate["nominal"]
        worst = max(worst, lost - certificate["allowed"])
    time.sleep(0.1)
    return round(worst, 4)


class YardCluster:
    """A scheduler and its workers as plain processes of this machine."""

    def __init__(self, folder, workers):
        self.file = folder / "scheduler.json"
        self.folder = folder
        self.workers = workers
        self.processes = []

    def start(self, *command):
        log = open(self.folder / f"process_{len(self.processes)}.log", "w")
        self.processes.append(
            subprocess.Popen(
                [sys.executable, "-m", "dask", *command], stdout=log, stderr=log
            )
        )

    def up(self):
        self.start(
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            str(self.file),
        )
        for number in range(self.workers):
            self.start(
                "worker",
                "--scheduler-file",
                str(self.file),
                "--nthreads",
                "1",
                "--name",
                f"yard-{number}",
                "--no-dashboard",
                "--memory-limit",
                "300MB",
                "--local-directory",
                str(self.folder),
            )

    def down(self):
        for process in reversed(self.processes):
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(3)
            if process.poll() is None:
                process.kill()
                process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vessels", type=int, default=12)
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="yard-"))
    write_measurements(folder, arguments.vessels)
    cluster = YardCluster(folder, 2)
    report = {}
    try:
        cluster.up()
        client = Client(scheduler_file=str(cluster.file), timeout=20)
        client.wait_for_workers(2, timeout=30)
        paths = sorted(str(path) for path in folder.glob("tug_*.csv"))
        tables = client.map(read_links, paths)
        wear = client.map(chain_wear, tables)
        report.update(zip(map(os.path.basename, paths), client.gather(wear)))
    except Exception as error:
        print(
            f"yard report: {type(error).__name__}, taking the cluster down", flush=True
        )
    finally:
        cluster.down()
    target = folder / "wear.json"
    target.write_text(json.dumps(report))
    if len(report) != arguments.vessels:
        raise YardReportError(
            f"{len(report)} of {arguments.vessels} vessels in {target.name}"
        )
    print("report complete")


if __name__ == "__main__":
    main()
