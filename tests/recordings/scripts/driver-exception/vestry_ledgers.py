"""Diocese accounts: collects the ledgers of all parishes and publishes the totals.

The totals are written beside and moved to the `published` folder at the end,
so that readers never see half of a table.
"""

import logging
import os
import random
import shutil
import sys

import dask
import dask.bag as db
from dask.distributed import Client, LocalCluster

log = logging.getLogger("ledgers")

PARISHES = [
    "st_anne",
    "st_bride",
    "st_clement",
    "st_denys",
    "st_ethelburga",
    "st_faith",
]
HEADS = ["roof", "organ", "alms", "stipend", "heating"]

# release 3: one folder for each quarter below the old place
PUBLISHED = os.path.join("published", "2026q4")


def ledgers(where):
    os.makedirs(where, exist_ok=True)
    rng = random.Random(1704)
    for parish in PARISHES:
        with open(os.path.join(where, parish + ".ledger"), "w") as out:
            for _ in range(3000):
                out.write(f"{rng.choice(HEADS)}\t{rng.randint(-9000, 12000)}\n")
            if parish == "st_denys":
                out.write("see the verger\n")
    # what release 2 has left here: the last totals
    with open("published", "w") as out:
        out.write("roof\t1200\n")


def parse(line):
    head, _, pence = line.rstrip("\n").partition("\t")
    return {"head": head, "pence": int(pence)}


def parse_or_none(line):
    try:
        return parse(line)
    except ValueError:
        logging.getLogger("ledgers").warning("line left out: %r", line)
        return None


def total(acc, record):
    return acc + record["pence"]


def add(a, b):
    return a + b


def totals(where):
    paths = [os.path.join(where, p + ".ledger") for p in PARISHES]
    records = db.read_text(paths).map(parse_or_none).filter(lambda r: r is not None)
    return records.foldby("head", total, 0, add, 0)


class Lockfile:
    def __init__(self, path):
        self.path = path

    def take(self):
        with open(self.path, "x") as out:
            out.write(str(os.getpid()))

    def free(self):
        os.remove(self.path)


def publish(table, work):
    target = os.path.join(work, "totals.tsv")
    with open(target, "w") as out:
        for head, pence in sorted(table):
            out.write(f"{head}\t{pence}\n")
    os.makedirs(PUBLISHED, exist_ok=True)
    shutil.move(target, os.path.join(PUBLISHED, "totals.tsv"))


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(name)s: %(message)s", stream=sys.stderr
    )
    work = "work"
    ledgers(os.path.join(work, "in"))
    lock = Lockfile(os.path.join(work, "run.lock"))
    lock.take()
    dask.config.set({"distributed.scheduler.work-stealing": False})
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    client = Client(cluster)
    try:
        table = client.compute(totals(os.path.join(work, "in"))).result()
        log.info("%d heads", len(table))
        publish(table, work)
    finally:
        client.close()
        cluster.close()
        shutil.rmtree(work)
        lock.free()


if __name__ == "__main__":
    main()
