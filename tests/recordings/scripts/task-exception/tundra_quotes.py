"""Store the quotes of the day in the tundra price book (sqlite)."""

import os
import sqlite3
import tempfile

from distributed import Client, LocalCluster, get_worker


def open_book(path, day):
    """Open the book for a day and register the day."""
    worker = get_worker()
    worker.book = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    worker.book.execute("BEGIN IMMEDIATE")
    worker.book.execute("INSERT INTO days VALUES (?)", (day,))
    return day


def store_quotes(path, day, quotes):
    with sqlite3.connect(path, timeout=3) as book:
        book.executemany("INSERT INTO quotes VALUES (?, ?)", [(day, q) for q in quotes])
    return len(quotes)


def main():
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "book.sqlite")
        with sqlite3.connect(path) as book:
            book.execute("CREATE TABLE days (day TEXT)")
            book.execute("CREATE TABLE quotes (day TEXT, quote REAL)")
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                dashboard_address=None,
                local_directory=tmp,
            ) as cluster,
            Client(cluster) as client,
        ):
            first, second = list(client.scheduler_info()["workers"])
            day = client.submit(open_book, path, "2026-11-25", workers=[first]).result()
            stored = [
                client.submit(
                    store_quotes, path, day, [n + 0.5, n + 0.75], workers=[second]
                )
                for n in range(4)
            ]
            print("stored", sum(client.gather(stored)))


if __name__ == "__main__":
    main()
