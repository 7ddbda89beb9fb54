"""Audit of warp breakages: every loom's log is scored with a shared rule book."""

import logging
import random
import sqlite3
import tempfile
import time
from pathlib import Path

from dask.distributed import Client, LocalCluster

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("audit")


def fill_database(path):
    with sqlite3.connect(path) as db:
        db.execute("create table rules (fibre text, breaks_per_hour real)")
        db.executemany(
            "insert into rules values (?, ?)",
            [("wool", 4.0), ("silk", 7.5), ("linen", 3.2), ("jute", 2.0)],
        )


class RuleBook:
    def __init__(self, path):
        self.database = sqlite3.connect(path)
        self.limits = dict(
            self.database.execute("select fibre, breaks_per_hour from rules")
        )

    def allowed(self, fibre):
        return self.limits[fibre]


def read_loom(loom):
    random.seed(loom)
    time.sleep(0.2)
    return [
        (random.choice(["wool", "silk", "linen", "jute"]), random.expovariate(0.25))
        for _ in range(200)
    ]


def main():
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "rules.sqlite"
        fill_database(path)
        rules = RuleBook(path)

        def score(rows):
            return sum(1 for fibre, breaks in rows if breaks > rules.allowed(fibre))

        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster) as client:
                looms = client.map(read_loom, range(40))
                lengths = client.gather(client.map(len, looms))
                log.info("%d looms, %d rows", len(lengths), sum(lengths))
                scores = client.map(score, looms)
                worst = max(zip(client.gather(scores), range(40)))
                log.info("worst loom: %s with %s", worst[1], worst[0])


if __name__ == "__main__":
    main()
