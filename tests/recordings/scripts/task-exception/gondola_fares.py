"""Posts the day's gondola fares and renews the season's summary.

Fares come as small batches per landing stage; they go into one SQLite file
that the harbour office copies at four in the morning.
"""

import argparse
import logging
import random
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from distributed import Client, LocalCluster

log = logging.getLogger("gondolas")

STAGES = [
    "accademia",
    "rialto",
    "san_marco",
    "ca_doro",
    "zattere",
    "santa_lucia",
    "giudecca",
    "lido",
]
DAYS = 60


def connect(path):
    return closing(sqlite3.connect(path, timeout=4, isolation_level=None))


def create(path, seed=7):
    rng = random.Random(seed)
    with connect(path) as db:
        db.execute(
            "CREATE TABLE fares (day INTEGER, stage TEXT, rides INTEGER, euros REAL)"
        )
        db.execute(
            "CREATE TABLE summary (day INTEGER PRIMARY KEY, rides INTEGER, euros REAL)"
        )
        db.execute("BEGIN")
        for day in range(DAYS):
            for stage in STAGES:
                rides = rng.randint(5, 60)
                db.execute(
                    "INSERT INTO fares VALUES (?, ?, ?, ?)",
                    (day, stage, rides, rides * 82.5),
                )
        db.execute("COMMIT")


def renew_summary(path):
    """All days anew, in one transaction: readers never see half a season."""
    with connect(path) as db:
        db.execute("BEGIN IMMEDIATE")
        db.execute("DELETE FROM summary")
        for day in range(DAYS):
            rides, euros = db.execute(
                "SELECT sum(rides), sum(euros) FROM fares WHERE day = ?", (day,)
            ).fetchone()
            euros += weather_allowance(day)
            db.execute("INSERT INTO summary VALUES (?, ?, ?)", (day, rides, euros))
        db.execute("COMMIT")
    return DAYS


def weather_allowance(day):
    time.sleep(0.5)  # asks the lagoon's tide service
    return -25.0 if day % 9 == 0 else 0.0


def read_batch(stage):
    """What the boatmen typed in today."""
    rng = random.Random(stage)
    time.sleep(0.7)
    return [
        (DAYS, stage, rng.randint(1, 6), 82.5 * rng.randint(1, 6)) for _ in range(30)
    ]


def post_fares(path, rows):
    with connect(path) as db:
        db.execute("BEGIN IMMEDIATE")
        db.executemany("INSERT INTO fares VALUES (?, ?, ?, ?)", rows)
        db.execute("COMMIT")
    return len(rows)


def nightly(client, path):
    summary = client.submit(renew_summary, path, priority=10)
    batches = client.map(read_batch, STAGES)
    posted = [
        client.submit(post_fares, path, batch, key=f"post_fares-{stage}", retries=1)
        for stage, batch in zip(STAGES, batches)
    ]
    log.info("posted %d fares", sum(client.gather(posted)))
    log.info("summary of %d days", summary.result())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    with tempfile.TemporaryDirectory(prefix="gondolas-") as folder:
        path = str(Path(folder) / "fares.sqlite")
        create(path)
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=args.threads,
                memory_limit="250MiB",
                dashboard_address="127.0.0.1:0",
                local_directory=folder,
            ) as cluster,
            Client(cluster) as client,
        ):
            client.wait_for_workers(2, timeout=60)
            nightly(client, path)
    log.info("fares are ready for the harbour office")
    return 0


if __name__ == "__main__":
    sys.exit(main())
