"""Nightly billing of the kennels: price every stay on the cluster, the tasks book their invoices into sqlite."""

import argparse
import datetime as dt
import logging
import os
import random
import sqlite3
import sys
import tempfile
import time

from distributed import Client, LocalCluster, as_completed

log = logging.getLogger("kennel_stays")

KENNELS = ["birkenhof", "dachsbau", "eichgrund", "fuchsweg", "lindenau"]
RATES = {"small": 21.0, "medium": 26.5, "large": 33.0}
SCHEMA = """
create table runs (id integer primary key, night text, kennels integer, invoices integer);
create table invoices (run integer, kennel text, dog text, days integer, amount real);
"""


def make_stays(kennel, count=40):
    rng = random.Random(kennel)
    return [
        {
            "dog": f"{kennel[:3]}-{n:03d}",
            "size": rng.choice(list(RATES)),
            "days": rng.randint(1, 14),
        }
        for n in range(count)
    ]


def connect(path):
    return sqlite3.connect(path, timeout=3.0)


def price_stays(kennel):
    rows = []
    for stay in make_stays(kennel):
        discount = 0.9 if stay["days"] >= 7 else 1.0
        rows.append(
            (
                kennel,
                stay["dog"],
                stay["days"],
                round(RATES[stay["size"]] * stay["days"] * discount, 2),
            )
        )
    time.sleep(0.5)
    return rows


def book_invoices(rows, path, run):
    db = connect(path)
    try:
        with db:
            db.executemany(
                "insert into invoices values (?, ?, ?, ?, ?)",
                [(run, *row) for row in rows],
            )
    finally:
        db.close()
    return len(rows)


def open_run(db, night):
    """Header of this night's run; its id goes onto every invoice."""
    cursor = db.execute(
        "insert into runs (night, kennels) values (?, ?)",
        (night.isoformat(), len(KENNELS)),
    )
    log.info("run %d opened for %s", cursor.lastrowid, night)
    return cursor.lastrowid


def close_run(db, run, invoices):
    db.execute("update runs set invoices = ? where id = ?", (invoices, run))
    db.commit()
    log.info("run %d closed with %d invoices", run, invoices)


def bill(client, path, night):
    db = connect(path)
    run = open_run(db, night)
    booked = []
    for kennel in KENNELS:
        rows = client.submit(price_stays, kennel, key=f"price_stays-{kennel}")
        booked.append(
            client.submit(
                book_invoices, rows, path, run, key=f"book_invoices-{kennel}", retries=2
            )
        )
    total = 0
    for future in as_completed(booked):
        total += future.result()
        log.info("%s: booked", future.key)
    close_run(db, run, total)
    db.close()
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--night", type=dt.date.fromisoformat, default=dt.date(2026, 11, 26)
    )
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )

    with tempfile.TemporaryDirectory(prefix="kennel-") as folder:
        path = os.path.join(folder, "billing.db")
        db = connect(path)
        db.executescript(SCHEMA)
        db.close()
        with (
            LocalCluster(
                n_workers=args.workers,
                threads_per_worker=1,
                memory_limit="300MiB",
                dashboard_address=":0",
            ) as cluster,
            Client(cluster) as client,
        ):
            log.info(
                "%d kennels, %d workers, ledger %s", len(KENNELS), args.workers, path
            )
            total = bill(client, path, args.night)
            log.info("%d invoices go out tomorrow", total)
    return 0


if __name__ == "__main__":
    sys.exit(main())
