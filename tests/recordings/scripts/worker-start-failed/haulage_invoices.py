"""Monthly invoices of a haulage company.

Trips are grouped by customer and priced with the diesel surcharge of the week.  Every worker keeps one rate book,
put there by a plugin, because reading it anew for each customer took most of the night.  The cluster starts empty
and is scaled when the list of customers is known.
"""

import json
import logging
import random
import sqlite3
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from distributed import Client, LocalCluster, WorkerPlugin, as_completed, get_worker

logger = logging.getLogger("haulage")


@dataclass
class Trip:
    customer: int
    km: float
    tonnes: float
    week: int


class RateBook(WorkerPlugin):
    """Opens the surcharge database and keeps the table in the worker."""

    name = "rate-book"

    def __init__(self, database):
        self.database = str(database)

    def setup(self, worker):
        db = sqlite3.connect(self.database)
        try:
            rows = db.execute("SELECT week, factor FROM diesel_surcharge").fetchall()
        finally:
            db.close()
        worker.rate_book = dict(rows)

    def teardown(self, worker):
        if hasattr(worker, "rate_book"):
            del worker.rate_book


def build_database(path: Path):
    """What the finance department exports each night."""
    db = sqlite3.connect(path)
    with db:
        db.execute("CREATE TABLE diesel_surcharge_de (week INTEGER, factor REAL)")
        db.executemany(
            "INSERT INTO diesel_surcharge_de VALUES (?, ?)",
            [(w, 1 + w / 500) for w in range(1, 54)],
        )
        db.execute("CREATE TABLE customers (id INTEGER, name TEXT)")
        db.executemany(
            "INSERT INTO customers VALUES (?, ?)",
            [(i, f"customer {i}") for i in range(16)],
        )
    db.close()


def load_customers(path: Path):
    db = sqlite3.connect(path)
    try:
        return dict(db.execute("SELECT id, name FROM customers"))
    finally:
        db.close()


def trips_of(customer):
    rng = random.Random(customer)
    return [
        Trip(customer, rng.uniform(20, 700), rng.uniform(2, 24), rng.randint(1, 53))
        for _ in range(300)
    ]


def price_customer(customer):
    book = get_worker().rate_book
    return customer, round(
        sum(t.km * t.tonnes * 0.11 * book[t.week] for t in trips_of(customer)), 2
    )


def run(folder: Path):
    database = folder / "finance.sqlite"
    build_database(database)
    customers = load_customers(database)

    with ExitStack() as stack:
        cluster = stack.enter_context(
            LocalCluster(
                n_workers=0,
                threads_per_worker=1,
                memory_limit="300MB",
                dashboard_address=None,
            )
        )
        client = stack.enter_context(Client(cluster))
        client.register_plugin(RateBook(database))
        cluster.scale(2)
        client.wait_for_workers(2, timeout=30)
        logger.info("%d customers, %d workers", len(customers), len(cluster.workers))

        futures = client.map(
            price_customer,
            list(customers),
            retries=1,
            key=[f"price-{c}" for c in customers],
        )
        invoices = {}
        for future in as_completed(futures):
            customer, amount = future.result()
            invoices[customers[customer]] = amount
        (folder / "invoices.json").write_text(json.dumps(invoices, indent=1))
    return invoices


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    with tempfile.TemporaryDirectory() as name:
        result = run(Path(name))
    print(sum(result.values()))
