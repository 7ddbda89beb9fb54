"""Guillemot census: corrects ledge counts of the cliffs by observer and visibility, by dataframe partitions."""

import logging
import sqlite3
import sys

import numpy as np
import pandas as pd

import dask.dataframe as dd
from dask.distributed import Client, LocalCluster

logging.basicConfig(level=logging.INFO, format="%(levelname).1s %(message)s")
log = logging.getLogger("census")

CLIFFS = ["Stack", "Geo", "Arch", "Noup", "Heads"]


class ObserverBook:
    """Experience of observers, kept by the society in SQLite."""

    def __init__(self, path):
        self.base = sqlite3.connect(path)
        self.base.execute(
            "create table if not exists observer (name text primary key, seasons int)"
        )

    def fill(self, names):
        self.base.executemany(
            "insert or replace into observer values (?, ?)",
            [(name, 1 + n * 3 % 11) for n, name in enumerate(names)],
        )
        self.base.commit()

    def seasons(self, name):
        row = self.base.execute(
            "select seasons from observer where name = ?", (name,)
        ).fetchone()
        return row[0] if row else 0


class Correction:
    def __init__(self, book, haze=0.04):
        self.book = book
        self.haze = haze
        self.cache = {}

    def factor(self, name):
        if name not in self.cache:
            self.cache[name] = 1 + 0.3 / (1 + self.book.seasons(name))
        return self.cache[name]

    def __call__(self, part):
        factor = part["observer"].map(self.factor).astype("float64")
        return part.assign(birds=part["seen"] * factor * (1 + self.haze * part["haze"]))


def visits(rows, seed=5):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "cliff": rng.choice(CLIFFS, rows),
            "observer": rng.choice(["mk", "tr", "jo", "al"], rows),
            "seen": rng.poisson(340, rows),
            "haze": rng.integers(0, 4, rows),
        }
    )


def summary(frame):
    return frame.groupby("cliff")["birds"].agg(["mean", "count"])


def main(rows=40_000):
    book = ObserverBook("observers.db")
    book.fill(["mk", "tr", "jo", "al"])
    table = visits(rows)
    log.info(
        "on a sample: %s",
        summary(Correction(book)(table.head(400))).round(1).to_dict()["mean"],
    )
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        frame = dd.from_pandas(table, npartitions=8)
        log.info("raw: %s", frame.groupby("cliff")["seen"].sum().compute().to_dict())
        meta = table.head(0).assign(birds=pd.Series(dtype="float64"))
        corrected = frame.map_partitions(Correction(book), meta=meta)
        for attempt in (1, 2):
            try:
                result = summary(corrected).compute()
                break
            except ConnectionError as problem:
                log.warning("attempt %d: %s", attempt, problem)
        else:
            return 4
        print(result.round(1).to_string())
    return 0


if __name__ == "__main__":
    sys.exit(main())
