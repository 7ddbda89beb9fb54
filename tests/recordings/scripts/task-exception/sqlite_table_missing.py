"""Enrich orders from a SQLite file; the migration was not run everywhere."""

import sqlite3
import tempfile
from pathlib import Path

from dask.distributed import Client

FOLDER = Path(tempfile.mkdtemp())


def prepare(site, *, migrated):
    with sqlite3.connect(FOLDER / f"{site}.db") as db:
        db.execute("create table orders (id integer, total real)")
        db.executemany(
            "insert into orders values (?, ?)", [(n, n * 1.1) for n in range(50)]
        )
        if migrated:
            db.execute("create table discounts (id integer, share real)")


def net_total(site):
    query = "select sum(total * (1 - coalesce(share, 0))) from orders left join discounts using (id)"
    with sqlite3.connect(FOLDER / f"{site}.db") as db:
        return db.execute(query).fetchone()[0]


if __name__ == "__main__":
    sites = [f"site{n}" for n in range(5)]
    for site in sites:
        prepare(site, migrated=site != "site3")
    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    print(dict(zip(sites, client.gather(client.map(net_total, sites)))))
