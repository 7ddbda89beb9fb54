"""Quarterly royalty statements for jukebox operators.

Plays are summed per song by Dask tasks; a writer thread of this process puts the finished statements into the
ledger file in the order in which they come, so that the database of the old accounts system, which allows one
connection only, is written to by one thread.
"""

import argparse
import logging
import queue
import random
import sqlite3
import threading
import time
from pathlib import Path

from distributed import Client, LocalCluster, as_completed

log = logging.getLogger("royalties")

RATES = {"EUR": 1.0, "GBP": 1.17, "CHF": 1.05}


def collect_plays(operator):
    rng = random.Random(operator)
    time.sleep(0.05)
    currency = "SEK" if operator == 17 else rng.choice(sorted(RATES))
    return {
        "operator": operator,
        "currency": currency,
        "songs": {
            f"song{rng.randrange(500):03d}": rng.randrange(1, 90) for _ in range(200)
        },
    }


def royalty_statement(plays):
    due = sum(count * 0.0125 for count in plays["songs"].values())
    return {
        "operator": plays["operator"],
        "currency": plays["currency"],
        "due": round(due, 2),
    }


class LedgerWriter(threading.Thread):
    """Takes statements from a short queue and writes them, one transaction each."""

    def __init__(self, path, depth=8):
        super().__init__(name="ledger-writer", daemon=True)
        self.path = path
        self.queue = queue.Queue(maxsize=depth)
        self.written = 0

    def run(self):
        ledger = sqlite3.connect(self.path)
        ledger.execute(
            "create table if not exists statements (operator integer, due_eur real)"
        )
        while True:
            statement = self.queue.get()
            if statement is None:
                break
            with ledger:
                euros = statement["due"] * RATES[statement["currency"]]
                ledger.execute(
                    "insert into statements values (?, ?)",
                    (statement["operator"], euros),
                )
            self.written += 1
        ledger.close()

    def close(self):
        self.queue.put(None)
        self.join()
        log.info("%d statements in the ledger", self.written)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--operators", type=int, default=60)
    parser.add_argument("--ledger", default="royalties.sqlite")
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(threadName)s %(message)s"
    )

    Path(args.ledger).unlink(missing_ok=True)
    writer = LedgerWriter(args.ledger)
    writer.start()

    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="300MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            plays = client.map(collect_plays, range(args.operators))
            statements = client.map(royalty_statement, plays)
            del plays
            try:
                for done, (_, statement) in enumerate(
                    as_completed(statements, with_results=True), 1
                ):
                    writer.queue.put(statement)
                    if done % 10 == 0:
                        log.info(
                            "%d of %d statements handed over", done, args.operators
                        )
            finally:
                writer.close()


if __name__ == "__main__":
    main()
