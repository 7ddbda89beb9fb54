"""Books the day's stock movements of the lantern warehouses into the shared stock database."""

import argparse
import logging
import os
import random
import sqlite3
import sys
import tempfile
import time

from dask.distributed import Client, LocalCluster

log = logging.getLogger("stock")
WAREHOUSES = ["arles", "basel", "como", "delft", "essen", "fano"]
SCHEMA = """
create table runs (id integer primary key, started text, state text);
create table movements (run integer, warehouse text, article text, quantity integer);
"""


def connect(path):
    return sqlite3.connect(path, timeout=6, isolation_level=None)


class RunHeader:
    """The row of this run; it shows in the stock desk's screen when the run is complete."""

    def __init__(self, path):
        self.connection = connect(path)

    def __enter__(self):
        self.connection.execute("begin immediate")
        cursor = self.connection.execute(
            "insert into runs (started, state) values (datetime(), 'loading')"
        )
        self.run = cursor.lastrowid
        log.info("run %d opened", self.run)
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:
            self.connection.execute(
                "update runs set state = 'done' where id = ?", (self.run,)
            )
            self.connection.execute("commit")
        else:
            self.connection.execute("rollback")
        self.connection.close()


def read_scanner(warehouse):
    """What the hand scanners of one warehouse sent."""
    rng = random.Random(warehouse)
    time.sleep(0.5)
    return [
        (f"L{rng.randint(100, 140)}", rng.choice([-3, -2, -1, 1, 5, 10]))
        for _ in range(400)
    ]


def net_movements(scans):
    totals = {}
    for article, quantity in scans:
        totals[article] = totals.get(article, 0) + quantity
    return sorted(totals.items())


def post_movements(path, run, warehouse, movements):
    connection = connect(path)
    try:
        connection.execute("begin immediate")
        connection.executemany(
            "insert into movements values (?, ?, ?, ?)",
            [(run, warehouse, article, quantity) for article, quantity in movements],
        )
        connection.execute("commit")
    finally:
        connection.close()
    return warehouse, len(movements)


def book_all(client, path, run):
    futures = []
    for warehouse in WAREHOUSES:
        scans = client.submit(read_scanner, warehouse, key=f"read_scanner-{warehouse}")
        net = client.submit(net_movements, scans, key=f"net_movements-{warehouse}")
        futures.append(
            client.submit(
                post_movements,
                path,
                run,
                warehouse,
                net,
                key=f"post_movements-{warehouse}",
            )
        )
    for warehouse, count in client.gather(futures):
        log.info("%-6s %4d articles booked", warehouse, count)


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def main():
    args = parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    with tempfile.TemporaryDirectory(prefix="stock-") as base:
        path = os.path.join(base, "stock.sqlite")
        setup = connect(path)
        setup.executescript(SCHEMA)
        setup.close()
        with (
            LocalCluster(
                n_workers=args.workers,
                threads_per_worker=args.threads,
                memory_limit="250MiB",
                dashboard_address=":0",
                local_directory=base,
            ) as cluster,
            Client(cluster) as client,
        ):
            with RunHeader(path) as header:
                book_all(client, path, header.run)
    return 0


if __name__ == "__main__":
    sys.exit(main())
