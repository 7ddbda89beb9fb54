#!/usr/bin/env python
"""Builds the opening book of a race day from the feeds of the bookmakers.

Prices come as decimals or fractions. A bookmaker that does not offer a course sends a feed with state "closed";
this is normal and only reported.
"""

import json
import logging
import random
import sys
import tempfile
from decimal import Decimal
from pathlib import Path

import click
import dask
from distributed import Client, wait

log = logging.getLogger("odds")

COURSES = ["ascot", "ayr", "bath", "chester", "exeter", "goodwood", "kempton", "ludlow"]
MAKERS = ["bentley", "corrigan", "dunmore"]


class FeedClosed(Exception):
    """The bookmaker takes no bets for this course."""


def price_of(text):
    if "/" in text:
        over, under = text.split("/")
        return Decimal(over) / Decimal(under) + 1
    return Decimal(text)


def parse_feed(path):
    feed = json.loads(Path(path).read_text())
    if feed["state"] == "closed":
        raise FeedClosed(f"{feed['maker']} is closed for {feed['course']}")
    return {
        "course": feed["course"],
        "maker": feed["maker"],
        "prices": {runner: price_of(text) for runner, text in feed["runners"].items()},
    }


def overround(feed):
    return (
        feed["course"],
        feed["maker"],
        float(sum(1 / p for p in feed["prices"].values())),
    )


class Book:
    def __init__(self, client):
        self.client = client
        self.lines = []
        self.closed = 0
        self.problems = 0

    def collect(self, futures):
        wait(list(futures.values()))
        for (course, maker), future in futures.items():
            try:
                self.lines.append(future.result())
            except FeedClosed as err:
                self.closed += 1
                log.info("skipped: %s", err)
            except Exception:
                self.problems += 1
                log.warning("no line for %s at %s", maker, course)

    def publish(self, target):
        with open(target, "w") as out:
            for course, maker, value in sorted(self.lines):
                out.write(f"{course};{maker};{value:.4f}\n")
        log.info("%d lines, %d closed", len(self.lines), self.closed)


def feeds(folder, seed):
    rng = random.Random(seed)
    for course in COURSES:
        for maker in MAKERS:
            runners = {
                f"{course}-{n}": rng.choice(["7/2", "9/4", "3.75", "11/1", "5.5"])
                for n in range(1, 9)
            }
            if (course, maker) == ("kempton", "corrigan"):
                runners["kempton-4"] = "EVS"
            state = "closed" if rng.random() < 0.15 and course != "kempton" else "open"
            path = Path(folder) / f"{course}-{maker}.json"
            path.write_text(
                json.dumps(
                    dict(course=course, maker=maker, state=state, runners=runners)
                )
            )
            yield (course, maker), str(path)


@click.command()
@click.option("--seed", default=7)
@click.option("--book", default="book.csv")
def main(seed, book):
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    dask.config.set({"distributed.worker.memory.target": False})
    with (
        tempfile.TemporaryDirectory() as folder,
        Client(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="350MB",
            dashboard_address=None,
        ) as client,
    ):
        result = Book(client)
        futures = {}
        for name, path in feeds(folder, seed):
            parsed = client.submit(
                parse_feed, path, retries=1, key="parse_feed-" + "-".join(name)
            )
            futures[name] = client.submit(
                overround, parsed, key="overround-" + "-".join(name)
            )
        result.collect(futures)
        result.publish(book)
        if result.problems:
            sys.exit(
                f"opening book failed: {result.problems} of {len(futures)} lines missing"
            )


if __name__ == "__main__":
    main()
