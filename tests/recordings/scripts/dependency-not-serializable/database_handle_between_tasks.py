"""One task opens the database, others query it, wherever they run."""

import sqlite3

from dask import delayed
from dask.distributed import Client, LocalCluster


@delayed
def connect(path):
    db = sqlite3.connect(path, check_same_thread=False)
    db.execute("create table prices (sku integer, price real)")
    db.executemany("insert into prices values (?, ?)", [(n, n * 0.5) for n in range(9)])
    return db


@delayed
def price(db, sku):
    import time

    time.sleep(0.5)
    return db.execute("select price from prices where sku = ?", (sku,)).fetchone()[0]


if __name__ == "__main__":
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    client = Client(cluster)
    db = connect(":memory:")
    total = delayed(sum)([price(db, sku) for sku in range(9)])
    print(client.compute(total).result(timeout=18))
