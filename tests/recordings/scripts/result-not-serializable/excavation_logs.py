"""Excavation logs: index the finds of a dig, one trench after the other.

Each trench becomes a small catalogue in SQLite on its worker; the field
office then asks for the catalogues, merges them and prints the day's table.
"""

import collections
import logging
import random
import sqlite3
import sys

import click
from dask.distributed import Client, LocalCluster, wait

log = logging.getLogger("dig")

KINDS = ["sherd", "bone", "coin", "nail", "bead"]


class Catalogue:
    """Finds of one trench, with an index over layers."""

    def __init__(self, trench):
        self.trench = trench
        self.count = 0
        self.db = sqlite3.connect(":memory:", check_same_thread=False)
        self.db.execute("create table finds (layer integer, kind text, grams real)")

    def add(self, rows):
        self.db.executemany("insert into finds values (?, ?, ?)", rows)
        self.db.execute("create index if not exists by_layer on finds (layer)")
        self.count = self.db.execute("select count(*) from finds").fetchone()[0]

    def per_kind(self):
        return dict(self.db.execute("select kind, count(*) from finds group by kind"))


def read_sheet(trench, n):
    rng = random.Random(trench)
    rows = [
        (rng.randint(1, 9), rng.choice(KINDS), round(rng.expovariate(0.2), 1))
        for _ in range(n)
    ]
    if trench == "T4":
        rows.append((None, "unlabelled", 0.0))
    return rows


def check_sheet(trench, rows):
    if any(layer is None for layer, _, _ in rows):
        raise ValueError(f"sheet of {trench}: find without a layer")
    return len(rows)


def build_catalogue(trench, rows):
    catalogue = Catalogue(trench)
    catalogue.add([r for r in rows if r[0] is not None])
    return catalogue


def merge(catalogues):
    total = collections.Counter()
    for catalogue in catalogues:
        total.update(catalogue.per_kind())
    return total


@click.command()
@click.option("--trenches", default=6)
@click.option("--finds", default=5_000)
def main(trenches, finds):
    logging.basicConfig(level=logging.INFO, stream=sys.stdout)
    names = [f"T{i}" for i in range(1, trenches + 1)]
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="300MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        sheets = {
            t: client.submit(read_sheet, t, finds, key=f"sheet-{t}") for t in names
        }
        checks = {
            t: client.submit(check_sheet, t, sheet, key=f"check-{t}")
            for t, sheet in sheets.items()
        }
        for trench, check in checks.items():
            try:
                log.info("%s has %d finds", trench, check.result())
            except ValueError as exc:
                log.warning("to be clarified in the morning: %s", exc)
        built = [
            client.submit(build_catalogue, t, sheet, key=f"catalogue-{t}")
            for t, sheet in sheets.items()
        ]
        wait(built, timeout=30)
        log.info("all catalogues are built: %s", {f.key: f.status for f in built})
        for kind, n in sorted(merge(client.gather(built)).items()):
            print(f"{kind:12} {n:6}")


if __name__ == "__main__":
    main()
