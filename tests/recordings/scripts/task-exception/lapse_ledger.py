"""Loads the day's policy lapses into the ledger database, one batch a branch office."""

import argparse
import logging
import os
import random
import sqlite3
import sys
import tempfile
import time

from dask.distributed import Client, LocalCluster

log = logging.getLogger("lapses")
BRANCHES = ["aarhus", "bergen", "cork", "dover", "evora", "faro", "ghent", "hull"]
SCHEMA = """
create table lapses (policy text primary key, branch text, days_late integer);
create table fees (policy text primary key, fee real);
"""


def open_ledger(path):
    return sqlite3.connect(path, timeout=20)


def make_feed(folder):
    rng = random.Random(5)
    for position, branch in enumerate(BRANCHES):
        with open(os.path.join(folder, branch + ".txt"), "w") as out:
            for number in range(120):
                premium = f"{rng.uniform(20, 400):.2f}"
                if branch == "evora" and number == 88:
                    premium = premium.replace(".", ",")
                out.write(f"P{position}{number:05d};{rng.randint(1, 60)};{premium}\n")


def read_feed(path):
    with open(path) as lines:
        for line in lines:
            policy, days, premium = line.strip().split(";")
            yield policy, int(days), premium


def lapse_fee(days, premium):
    rate = 0.02 if days < 30 else 0.05
    return round(float(premium) * rate, 2)


def load_branch(feed, ledger, branch):
    records = list(read_feed(os.path.join(feed, branch + ".txt")))
    connection = open_ledger(ledger)
    try:
        with connection:
            connection.executemany(
                "insert into lapses values (?, ?, ?)",
                [(policy, branch, days) for policy, days, _ in records],
            )
        time.sleep(0.8)
        fees = [(policy, lapse_fee(days, premium)) for policy, days, premium in records]
        with connection:
            connection.executemany("insert into fees values (?, ?)", fees)
    finally:
        connection.close()
    return branch, len(fees), sum(fee for _, fee in fees)


def check_ledger(path):
    connection = open_ledger(path)
    counts = [
        connection.execute(f"select count(*) from {table}").fetchone()[0]
        for table in ("lapses", "fees")
    ]
    connection.close()
    log.info("ledger has %d lapses and %d fees", *counts)


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--retries", type=int, default=3, help="the file share is slow at night"
    )
    parser.add_argument("--pause", type=float, default=4.0)
    return parser.parse_args()


def main():
    args = parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    with tempfile.TemporaryDirectory(prefix="lapses-") as base:
        ledger = os.path.join(base, "ledger.sqlite")
        connection = open_ledger(ledger)
        connection.executescript(SCHEMA)
        connection.close()
        make_feed(base)
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="250MiB",
                dashboard_address=":0",
                local_directory=base,
            ) as cluster,
            Client(cluster) as client,
        ):
            time.sleep(args.pause)
            futures = [
                client.submit(
                    load_branch,
                    base,
                    ledger,
                    branch,
                    key=f"load_branch-{branch}",
                    retries=args.retries,
                )
                for branch in BRANCHES
            ]
            for branch, rows, fees in client.gather(futures):
                log.info("%-8s %4d fees, %10.2f in all", branch, rows, fees)
            check_ledger(ledger)
    return 0


if __name__ == "__main__":
    sys.exit(main())
