"""Load the yearly tithe rolls of four deaneries into the diocesan SQLite book, then close the year."""

import logging
import os
import sqlite3
import tempfile
import time

import numpy as np
from dask.distributed import Client, LocalCluster

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("tithes")

_book = None


def book(path):
    """One connection per worker process, opening costs 200 ms on the NFS share."""
    global _book
    if _book is None:
        _book = sqlite3.connect(path, timeout=3, check_same_thread=False)
    return _book


def make_roll(deanery, n, seed):
    rng = np.random.default_rng(seed)
    rows = [(deanery, i, int(v)) for i, v in enumerate(rng.integers(20, 900, n))]
    if deanery == "Ostrava":
        rows[n // 2] = (deanery, n // 2, -310)  # a refund typed in as a payment
    return rows


def enter_roll(path, deanery, rows):
    conn = book(path)
    for row in rows:
        conn.execute(
            "INSERT INTO tithe (deanery, household, pence) VALUES (?, ?, ?)", row
        )
    time.sleep(0.4)
    conn.commit()
    return len(rows)


def close_year(path):
    with sqlite3.connect(path, timeout=6) as conn:
        conn.execute(
            "INSERT INTO closing SELECT deanery, SUM(pence) FROM tithe GROUP BY deanery"
        )
        return conn.execute("SELECT COUNT(*) FROM closing").fetchone()[0]


def main():
    folder = tempfile.mkdtemp(prefix="tithes-")
    path = os.path.join(folder, "book.sqlite")
    with sqlite3.connect(path) as conn:
        conn.execute(
            "CREATE TABLE tithe (deanery TEXT, household INT, pence INT CHECK (pence >= 0))"
        )
        conn.execute("CREATE TABLE closing (deanery TEXT, pence INT)")
    conn.close()

    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        entered = 0
        for seed, deanery in enumerate(["Melnik", "Olomouc", "Svitavy", "Ostrava"]):
            rows = make_roll(deanery, 1200, seed)
            try:
                entered += client.submit(
                    enter_roll, path, deanery, rows, pure=False
                ).result(timeout=30)
            except sqlite3.IntegrityError as exc:
                log.warning(
                    "roll of %s has lines for the clerk (%s), goes into the next run",
                    deanery,
                    exc,
                )
        log.info("%d households entered", entered)
        log.info("closed %d deaneries", close_year(path))


if __name__ == "__main__":
    main()
