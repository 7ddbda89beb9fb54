"""Debenture coupons: interest accrued until the coupon date, per issuer.

Curves arrive as CSV files in curves/ next to this script. Workers write what
they spill to a scratch folder of the run.
"""

import csv
import datetime as dt
import logging
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import dask.bag as db
from distributed import Client

log = logging.getLogger("coupons")
CURVES = Path("curves")
CURRENCIES = ["chf", "eur", "nok", "sek"]


def receive_curves():
    CURVES.mkdir(exist_ok=True)
    for n, currency in enumerate(CURRENCIES):
        with open(CURVES / f"{currency}_2026-11-27.csv", "w", newline="") as out:
            writer = csv.writer(out)
            writer.writerow(["days", "rate"])
            writer.writerows(
                (30 * k, round(0.012 + 0.002 * n + 0.0004 * k, 5)) for k in range(1, 25)
            )


def check_curves():
    missing = [c for c in CURRENCIES if not (CURVES / f"{c}_2026-11-27.csv").is_file()]
    if missing:
        raise SystemExit(f"no curve for {missing}")
    log.info("curves complete: %s", ", ".join(CURRENCIES))


def debentures(count):
    start = dt.date(2026, 2, 1)
    for n in range(count):
        yield {
            "isin": f"XS{n:010d}",
            "currency": CURRENCIES[n % len(CURRENCIES)],
            "nominal": 10_000 * (1 + n % 9),
            "days": (dt.date(2026, 11, 27) - start).days + n % 200,
        }


def load_curve(currency):
    with open(CURVES / f"{currency}_2026-11-27.csv", newline="") as source:
        return [
            (int(row["days"]), float(row["rate"])) for row in csv.DictReader(source)
        ]


def accrue_partition(bonds):
    curves = {}
    out = []
    for bond in bonds:
        if bond["currency"] not in curves:
            curves[bond["currency"]] = load_curve(bond["currency"])
        rate = next(
            (r for days, r in curves[bond["currency"]] if days >= bond["days"]), 0.02
        )
        out.append((bond["currency"], bond["nominal"] * rate * bond["days"] / 365))
    return out


class Desk:
    """Scheduler and workers of the desk, stopped whatever happens."""

    def __init__(self):
        self.scratch = Path(tempfile.mkdtemp(prefix="coupons-"))
        self.file = self.scratch / "desk.json"
        self.procs = []

    def open(self):
        self._spawn("scheduler", "--host", "127.0.0.1", "--port", "0")
        for n in (1, 2):
            self._spawn(
                "worker",
                "--name",
                f"desk-{n}",
                "--nthreads",
                "1",
                "--memory-limit",
                "350MB",
            )
        deadline = time.monotonic() + 20
        while not self.file.exists():
            if time.monotonic() > deadline:
                raise TimeoutError("the desk does not open")
            time.sleep(0.1)
        return Client(scheduler_file=str(self.file), timeout=15)

    def _spawn(self, role, *args):
        command = [
            sys.executable,
            "-m",
            f"distributed.cli.dask_{role}",
            "--no-dashboard",
            "--scheduler-file",
            str(self.file),
            *args,
        ]
        self.procs.append(subprocess.Popen(command, cwd=self.scratch))

    def close(self):
        for proc in reversed(self.procs):
            proc.terminate()
        for proc in self.procs:
            proc.wait()
        shutil.rmtree(self.scratch, ignore_errors=True)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    receive_curves()
    check_curves()
    desk = Desk()
    try:
        client = desk.open()
        client.wait_for_workers(2, timeout=20)
        bonds = db.from_sequence(debentures(4000), npartitions=8)
        totals = bonds.map_partitions(accrue_partition).foldby(
            lambda x: x[0], lambda a, x: a + x[1], 0.0, lambda a, b: a + b, 0.0
        )
        for currency, amount in sorted(totals.compute()):
            log.info("%s %.2f", currency, amount)
    finally:
        desk.close()
        log.info("desk closed")
