"""Auction lots of onions: grade the sacks, post the results to the lot book.

The lot book is a SQLite file that the front office reads all day.
"""

import contextlib
import functools
import logging
import sqlite3
import sys
import time

import click
from dask.distributed import Client, LocalCluster, progress, wait  # noqa: F401

log = logging.getLogger("onions")


class PostingError(RuntimeError):
    """A lot could not be posted."""


def patiently(times, pause):
    def wrap(func):
        @functools.wraps(func)
        def inner(*args, **kwargs):
            for n in range(times):
                try:
                    return func(*args, **kwargs)
                except sqlite3.OperationalError as exc:
                    logging.getLogger("onions").warning(
                        "%s: %s (%d)", func.__name__, exc, n + 1
                    )
                    last = exc
                    time.sleep(pause)
            raise PostingError(f"{func.__name__} gave up after {times} tries") from last

        return inner

    return wrap


def create_book(path, lots):
    with contextlib.closing(sqlite3.connect(path)) as book, book:
        book.execute("pragma journal_mode=wal")
        book.execute(
            "create table lots (id integer primary key, sacks integer, mean real)"
        )
        book.execute(
            "create table results (lot integer primary key, grade text, price real)"
        )
        book.execute("create table audit (started text, what text)")
        book.executemany(
            "insert into lots values (?, ?, ?)",
            [(i, 20 + i % 9, 48 + (i * 7) % 31) for i in range(lots)],
        )


@contextlib.contextmanager
def audited(path, what):
    """Writes one line into the audit table for the span of a step."""
    book = sqlite3.connect(path, isolation_level=None)
    book.execute("begin immediate")
    book.execute("insert into audit values (datetime('now'), ?)", (what,))
    try:
        yield
        book.execute("commit")
    except BaseException:
        book.execute("rollback")
        raise
    finally:
        book.close()


def grade_lot(path, lot):
    with contextlib.closing(sqlite3.connect(path, timeout=1)) as book:
        try:
            row = book.execute(
                "select sacks, mean from lots_2026 where id = ?", (lot,)
            ).fetchone()
        except sqlite3.OperationalError:  # books older than the yearly tables
            row = book.execute(
                "select sacks, mean from lots where id = ?", (lot,)
            ).fetchone()
    sacks, mean = row
    grade = "A" if mean > 65 else "B" if mean > 52 else "C"
    return lot, grade, round(sacks * mean * 0.11, 2)


@patiently(times=3, pause=0.3)
def post_lot(path, result):
    with contextlib.closing(sqlite3.connect(path, timeout=1)) as book, book:
        book.execute("insert into results values (?, ?, ?)", result)
    return result[0]


@click.command()
@click.option("--book", default="lotbook.db", show_default=True)
@click.option("--lots", default=12, show_default=True)
def auction(book, lots):
    """Grade and post the day's lots."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO)
    create_book(book, lots)
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="300MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        graded = [client.submit(grade_lot, book, lot) for lot in range(lots)]
        wait(graded)
        log.info("graded %d lots", len(graded))
        with audited(book, "posting"):
            posted = [client.submit(post_lot, book, g, pure=False) for g in graded]
            done = client.gather(posted)
        click.echo(f"posted {len(done)} lots")


if __name__ == "__main__":
    auction()
