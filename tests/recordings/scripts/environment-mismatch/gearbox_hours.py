"""Running hours and wear of the gearboxes of a wind park.

The library with the wear model is released into folders, one per version; ``PYTHONPATH`` says which one a process
uses.  The workers belong to a long-running service, this job comes with the evening's deployment.
"""

import logging
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import dask
import dask.bag as db
from distributed import Client

log = logging.getLogger("gearboxes")

RELEASE_41 = """
VERSION = "4.1"


def running_hours(turbine):
    return {"turbine": turbine, "hours": 4000 + (turbine * 613) % 2900, "load": 0.4 + (turbine % 7) / 20}


def wear_index(row):
    return {**row, "wear": row["hours"] * row["load"] ** 3}
"""

RELEASE_42 = """
VERSION = "4.2"
GRADES = {"VG320": 1.0, "VG460": 0.86}


def running_hours(turbine):
    return {"turbine": turbine, "hours": 4000 + (turbine * 613) % 2900, "load": 0.4 + (turbine % 7) / 20}


def wear_index(row, oil_grade="VG320"):
    return {**row, "wear": row["hours"] * row["load"] ** 3 * GRADES[oil_grade]}
"""


def release_folders():
    for version, text in (("4.1", RELEASE_41), ("4.2", RELEASE_42)):
        folder = Path("releases") / version
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "gearlib.py").write_text(text)
    return Path("releases").resolve()


class Service:
    def __init__(self, release, workers=2):
        self.env = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(
                filter(None, [str(release), os.environ.get("PYTHONPATH")])
            ),
        }
        self.workers = workers
        self.children = []
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]

    def _run(self, *command):
        self.children.append(
            subprocess.Popen([sys.executable, "-m", "dask", *command], env=self.env)
        )

    def up(self):
        self._run(
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            str(self.port),
            "--no-dashboard",
        )
        for i in range(self.workers):
            self._run(
                "worker",
                f"127.0.0.1:{self.port}",
                "--name",
                f"park-{i}",
                "--no-nanny",
                "--nthreads",
                "1",
                "--no-dashboard",
                "--memory-limit",
                "350MB",
            )
        return f"127.0.0.1:{self.port}"

    def down(self):
        for c in self.children[::-1]:
            c.terminate()
        for c in self.children:
            c.wait(10)


def oil_grades():
    """The stock system is often closed in the evening; then all have the standard oil."""
    try:
        with open("stock/oil_grades.csv") as f:
            return dict(line.strip().split(",") for line in f)
    except FileNotFoundError as e:
        log.warning("no oil list (%s), using the standard", e)
        return {}


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(levelname)s %(name)s: %(message)s"
    )
    releases = release_folders()
    service = Service(releases / "4.1")
    address = service.up()
    try:
        sys.path.insert(0, str(releases / "4.2"))
        import gearlib

        grade = oil_grades().get("default", "VG460")
        with (
            dask.config.set({"distributed.comm.timeouts.connect": "20s"}),
            Client(address) as client,
        ):
            client.wait_for_workers(service.workers, timeout=20)
            started = time.monotonic()
            rows = (
                db.from_sequence(range(60), npartitions=4)
                .map(gearlib.running_hours)
                .persist()
            )
            log.info(
                "hours of %d turbines, library %s",
                rows.count().compute(),
                gearlib.VERSION,
            )
            worst = (
                rows.map(gearlib.wear_index, oil_grade=grade)
                .topk(5, key=lambda r: r["wear"])
                .compute()
            )
            for row in worst:
                log.info("turbine %(turbine)d wear %(wear).1f", row)
            log.info("done in %.1f s", time.monotonic() - started)
    finally:
        service.down()


if __name__ == "__main__":
    main()
