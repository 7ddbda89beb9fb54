"""Score card transactions against the rules store."""

import sqlite3
import tempfile
from pathlib import Path

import numpy as np
from dask.distributed import Client, LocalCluster


class RuleBook:
    def __init__(self, path):
        self.db = sqlite3.connect(path)
        self.db.execute("create table if not exists rules (code text, floor real)")
        self.db.executemany(
            "insert into rules values (?, ?)", [("big", 900.0), ("night", 250.0)]
        )
        self.db.commit()

    def score(self, amounts):
        floors = [row[0] for row in self.db.execute("select floor from rules")]
        return [sum(a > f for f in floors) for a in amounts]


def batches(count):
    rng = np.random.default_rng(1)
    return [rng.gamma(2, 200, 500).tolist() for _ in range(count)]


def main():
    with tempfile.TemporaryDirectory() as tmp:
        book = RuleBook(Path(tmp) / "rules.db")
        print("local check:", book.score([100, 300, 1000]))
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            scored = client.map(lambda amounts: book.score(amounts), batches(12))
            print(sum(sum(s) for s in client.gather(scored)))


if __name__ == "__main__":
    main()
