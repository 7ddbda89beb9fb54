"""Quarterly royalties of the banjo catalogue.

Each label has a small SQLite ledger with plays per tune.  The statements are
made on the cluster, and the settlement file is published when all are there.
"""

import os
import random
import shutil
import sqlite3
import time
from dataclasses import dataclass, field

from dask.distributed import Client, LocalCluster

LABELS = {"rounder": 240, "bluegrass-hall": 310, "clawhammer": 190, "old-time": 150}


class Settlement:
    """Output that appears under its final name only when it is complete."""

    def __init__(self, quarter):
        self.part = os.path.join("outbox", f"royalties-{quarter}.csv.part")
        self.final = self.part[: -len(".part")]
        self.lines = []

    def __enter__(self):
        os.makedirs("outbox", exist_ok=True)
        return self

    def add(self, statement):
        self.lines.append(f"{statement.label},{statement.plays},{statement.amount:.2f}")

    def flush(self):
        with open(self.part, "w") as out:
            out.write("label,plays,amount\n" + "\n".join(self.lines) + "\n")

    def __exit__(self, *problem):
        shutil.copymode("ledgers", "outbox")
        os.replace(self.part, self.final)
        return False


@dataclass
class Statement:
    label: str
    plays: int
    amount: float
    ledger: sqlite3.Connection = field(repr=False, default=None)

    def tunes(self):
        return self.ledger.execute("select tune, plays from plays order by plays desc")


def make_ledger(label, tunes):
    path = os.path.join("ledgers", f"{label}.db")
    rng = random.Random(label)
    con = sqlite3.connect(path)
    con.execute("drop table if exists plays")
    con.execute("create table plays (tune text, plays integer)")
    con.executemany(
        "insert into plays values (?, ?)",
        [(f"tune {n}", rng.randint(0, 9000)) for n in range(tunes)],
    )
    con.commit()
    con.close()
    return path


def rate_per_play(label):
    rates = {"rounder": 0.0031, "clawhammer": 0.0028}
    try:
        return rates[label]
    except KeyError:
        return 0.0030


def make_statement(label, path, rate):
    time.sleep(0.4)
    ledger = sqlite3.connect(path, check_same_thread=False)
    (plays,) = ledger.execute("select sum(plays) from plays").fetchone()
    return Statement(label, plays, plays * rate, ledger)


def settle(client, quarter):
    with Settlement(quarter) as settlement:
        statements = []
        for label in LABELS:
            rate = client.submit(rate_per_play, label)
            path = os.path.abspath(os.path.join("ledgers", f"{label}.db"))
            statements.append(client.submit(make_statement, label, path, rate))
        for statement in client.gather(statements):
            settlement.add(statement)
        settlement.flush()
    return settlement.final


def main():
    os.makedirs("ledgers", exist_ok=True)
    for label, tunes in LABELS.items():
        make_ledger(label, tunes)
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=":0"
    )
    client = Client(cluster)
    try:
        print("published", settle(client, "2026Q3"))
    finally:
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
