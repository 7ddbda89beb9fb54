"""Reconcile bank lines; every task writes its matches into the ledger database."""

import sqlite3
import tempfile
from pathlib import Path

from dask.distributed import Client, LocalCluster


def create(path):
    db = sqlite3.connect(path)
    db.execute("create table matches (line integer, entry integer)")
    db.execute("create table runs (started text, state text)")
    db.commit()
    return db


def match(path, lines):
    found = [(n, n * 7 % 1000) for n in lines if n % 3]
    db = sqlite3.connect(path, timeout=3)
    with db:
        db.executemany("insert into matches values (?, ?)", found)
    db.close()
    return len(found)


def main():
    with tempfile.TemporaryDirectory() as tmp:
        path = str(Path(tmp) / "ledger.db")
        ledger = create(path)
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            ledger.execute("insert into runs values (datetime('now'), 'open')")
            futures = [
                client.submit(match, path, list(range(i, i + 500)), key=f"match-{i}")
                for i in range(0, 3000, 500)
            ]
            counts = client.gather(futures)
            ledger.execute("update runs set state = 'closed'")
            ledger.commit()
            print(sum(counts), "lines matched")


if __name__ == "__main__":
    main()
