"""Donation receipts: builds the yearly receipts per donor group and archives them in one file."""

import csv
import gzip
import io
import json
import logging
import os
import sys
import threading
import time

from distributed import Client, LocalCluster, get_worker

logging.basicConfig(
    stream=sys.stdout,
    level=logging.INFO,
    format="%(asctime)s %(message)s",
    datefmt="%H:%M:%S",
)
log = logging.getLogger("receipts")

GROUPS = ["parish", "school", "estate", "online", "appeal"]


class ReceiptBook:
    """Receipts of a group. Numbers are drawn by several mailing threads, one at a time."""

    def __init__(self, group, year):
        self.group = group
        self.year = year
        self.lines = []
        self._numbering = threading.RLock()

    def add(self, donor, amount):
        with self._numbering:
            self.lines.append(
                (
                    f"{self.year}-{self.group[:2].upper()}-{len(self.lines) + 1:05d}",
                    donor,
                    amount,
                )
            )

    @property
    def total(self):
        return sum(amount for _, _, amount in self.lines)

    def as_csv(self):
        out = io.StringIO()
        csv.writer(out).writerows(self.lines)
        return out.getvalue()


def read_donations(group, year):
    return [(f"{group}-{n:04d}", (n * 37 + year) % 240 + 5) for n in range(800)]


def make_book(group, donations, year):
    book = ReceiptBook(group, year)
    for donor, amount in donations:
        book.add(donor, amount)
    log.info("%s: %d receipts on %s", group, len(book.lines), get_worker().name)
    return book


def group_total(book):
    return book.group, book.total


def archive(books, path):
    with gzip.open(path, "wt") as out:
        for book in books:
            out.write(book.as_csv())
    log.info("archived %s, %d bytes", path, os.path.getsize(path))


def main():
    year = int(sys.argv[1]) if len(sys.argv) > 1 else 2026
    began = time.perf_counter()
    cluster = LocalCluster(
        n_workers=1,
        threads_per_worker=2,
        memory_limit="400MB",
        host="127.0.0.1",
        dashboard_address=None,
    )
    client = Client(cluster)
    try:
        books = []
        for group in GROUPS:
            donations = client.submit(read_donations, group, year)
            books.append(
                client.submit(
                    make_book, group, donations, year, key=f"receipt-book-{group}"
                )
            )
        totals = dict(client.gather(client.map(group_total, books)))
        log.info("totals %s", json.dumps(totals))
        archive(client.gather(books), f"receipts-{year}.csv.gz")
    finally:
        log.info("closing after %.1f s", time.perf_counter() - began)
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
