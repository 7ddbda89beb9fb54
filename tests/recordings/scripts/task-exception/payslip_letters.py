"""Payslips: computes net pay for every department and posts it to the register that the letter printer reads."""

import logging
import random
import sqlite3
import sys
import threading
import time
from pathlib import Path

from distributed import Client, LocalCluster, as_completed

log = logging.getLogger("payslips")
REGISTER = Path("register.sqlite")
DEPARTMENTS = [
    "accounts",
    "canteen",
    "drivers",
    "forge",
    "gardens",
    "legal",
    "nurses",
    "porters",
    "stores",
]


class NotYet(Exception):
    """Time sheets of a department are still open."""


def create_register():
    db = sqlite3.connect(REGISTER)
    db.execute(
        "CREATE TABLE IF NOT EXISTS payslips (department TEXT, employee INTEGER, net REAL)"
    )
    db.execute(
        "CREATE TABLE IF NOT EXISTS letters (department TEXT PRIMARY KEY, pages INTEGER)"
    )
    db.commit()
    db.close()


def net_pay(department, marks):
    """Gross to net for forty people; the canteen always hands in late, so its first attempt finds nothing."""
    late = Path(marks) / f"{department}.late"
    if department == "canteen" and not late.exists():
        late.touch()
        raise NotYet(department)
    rng = random.Random(department)
    time.sleep(0.5)
    return department, [
        (n, round(rng.uniform(1500, 4200) * 0.71, 2)) for n in range(40)
    ]


def post_payslips(computed, register):
    department, rows = computed
    db = sqlite3.connect(register, timeout=1.5)
    try:
        with db:
            db.executemany(
                "INSERT INTO payslips VALUES (?, ?, ?)",
                [(department, n, net) for n, net in rows],
            )
            db.execute(
                "INSERT INTO letters VALUES (?, ?)", (department, len(rows) // 2)
            )
    finally:
        db.close()
    return department, len(rows)


class Archiver(threading.Thread):
    """Compacts last year's register once the run is under way (the archive wants it before the printer starts)."""

    def __init__(self, after):
        super().__init__(daemon=True)
        self.after = after
        self.stopped = threading.Event()

    def run(self):
        self.after.wait()
        db = sqlite3.connect(REGISTER, isolation_level=None)
        db.execute("BEGIN EXCLUSIVE")
        db.execute("DELETE FROM payslips WHERE net < 0")
        self.stopped.wait(25)
        db.execute("COMMIT")
        db.close()


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    Path("marks").mkdir(exist_ok=True)
    create_register()
    under_way = threading.Event()
    archiver = Archiver(under_way)
    archiver.start()
    posted = {}
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    client = Client(cluster)
    try:
        pay = client.map(
            net_pay, DEPARTMENTS, marks=str(Path("marks").resolve()), retries=2
        )
        slips = client.map(
            post_payslips, pay, register=str(REGISTER.resolve()), retries=1
        )
        for future in as_completed(slips):
            department, count = future.result()
            posted[department] = count
            log.info("%s: %d payslips", department, count)
            if len(posted) == 3:
                under_way.set()
        log.info("all posted: %d", sum(posted.values()))
    finally:
        archiver.stopped.set()
        client.close()
        cluster.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
