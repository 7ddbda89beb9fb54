"""Yearly renewal of grazing leases.

The land office renews the leases of some hundred meadows: for each parish the new rents are
worked out on the cluster and entered into the cadastre, a plain file that bears no two writers at once.
"""

import argparse
import csv
import logging
import os
import random
import sys
import tempfile
from contextlib import contextmanager

from dask.distributed import Client, LocalCluster, Lock, as_completed, wait

log = logging.getLogger("leases")
PARISHES = [
    "Aldbury",
    "Brockham",
    "Cotley",
    "Dunsfold",
    "Eastry",
    "Fyfield",
    "Garsdon",
    "Horley",
]


def write_meadows(folder):
    rng = random.Random(11)
    for parish in PARISHES:
        with open(os.path.join(folder, parish + ".csv"), "w", newline="") as f:
            out = csv.writer(f)
            out.writerow(["meadow", "hectares", "soil", "rent"])
            for i in range(300):
                out.writerow(
                    [
                        f"{parish[:3].upper()}-{i:03d}",
                        round(rng.uniform(0.3, 9), 2),
                        rng.choice("ABCD"),
                        round(rng.uniform(20, 400), 2),
                    ]
                )


def reassess(path, factor):
    """New rents of one parish."""
    rows = []
    with open(path, newline="") as f:
        for row in csv.DictReader(f):
            area = float(row["hectares"])
            step = {"A": 1.1, "B": 1.0, "C": 0.9, "D": 0.8}[row["soil"]]
            rows.append((row["meadow"], round(area * step * factor, 2)))
    return rows


def check_rents(rows, floor):
    bad = [m for m, rent in rows if rent < floor]
    if bad:
        raise ValueError(f"{len(bad)} rents below the floor of {floor}")
    return len(rows)


def enter_rents(rows, cadastre):
    """Append one parish to the cadastre; one writer at a time."""
    with Lock("cadastre-file"):
        with open(cadastre, "a", newline="") as f:
            csv.writer(f).writerows(rows)
    return len(rows)


class Office:
    def __init__(self, client, folder):
        self.client = client
        self.folder = folder
        self.cadastre = os.path.join(folder, "cadastre.csv")

    @contextmanager
    def frozen_cadastre(self):
        """Nobody else may touch the cadastre while a renewal is written and checked."""
        with Lock("cadastre-file"):
            size = (
                os.path.getsize(self.cadastre) if os.path.exists(self.cadastre) else 0
            )
            log.info("cadastre frozen at %d bytes", size)
            yield size

    def assess(self, factor):
        futures = {
            p: self.client.submit(
                reassess,
                os.path.join(self.folder, p + ".csv"),
                factor,
                key=f"reassess-{p}",
            )
            for p in PARISHES
        }
        checks = self.client.map(check_rents, list(futures.values()), floor=1.0)
        for done in as_completed(checks):
            if done.status == "error":
                log.warning("to be looked at by hand: %s", done.exception())
        return futures

    def enter(self, assessed, timeout):
        entries = [
            self.client.submit(enter_rents, f, self.cadastre, key=f"enter_rents-{p}")
            for p, f in assessed.items()
        ]
        wait(entries, timeout=timeout)
        return sum(self.client.gather(entries))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--factor", type=float, default=42.0)
    ap.add_argument("--patience", type=float, default=15.0)
    args = ap.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(
            n_workers=2, threads_per_worker=2, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        write_meadows(folder)
        office = Office(client, folder)
        assessed = office.assess(args.factor)
        with office.frozen_cadastre() as before:
            count = office.enter(assessed, args.patience)
            after = os.path.getsize(office.cadastre)
        log.info("%d leases entered, cadastre grew by %d bytes", count, after - before)
    return 0


if __name__ == "__main__":
    sys.exit(main())
