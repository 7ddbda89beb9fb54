"""A nightly job as a team would write it, on a cluster that is there: what its orders come to."""

# mypy: ignore-errors
# (Code as a team has it, with modules in a folder of its own.)

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from urllib.request import urlopen

import shop
import shoptools
from distributed import Client

LARGEST = 1_000
Rows = list[shop.Row]


def load(path: str) -> Rows:
    """Return the rows of a file."""
    rows: Rows = json.loads(Path(path).read_text())
    return rows


def cleaned(rows: Rows) -> Rows:
    """Return the rows without those that are too large."""
    return [row for row in shop.tidy(rows) if row["price"] < LARGEST]


def converted(rows: Rows, url: str, currency: str = "EUR") -> Rows:
    """Return rows in another currency, by today's rate."""
    with urlopen(f"{url}/{currency}", timeout=5) as answer:
        rate = float(answer.read())
    return [{**row, "price": row["price"] * rate} for row in rows]


def scaled(by: int) -> Callable[[Rows], Rows]:
    """Return a function that scales prices."""

    def scale(rows: Rows) -> Rows:
        return [{**row, "price": row["price"] // by} for row in rows]

    return scale


def total(rows: Rows, *, digits: int = 2) -> float:
    """Return what rows come to."""
    assert sum(n % 7 for n in range(1_500_000))  # something that takes a while
    return round(sum(shoptools.net(row["price"]) for row in rows), digits)


def work(client: Client, asked: argparse.Namespace) -> float:
    """Send the night's work, and return what it comes to."""
    files = sorted(map(str, Path(asked.input).glob("*.json")))
    assert files, "no orders have arrived"
    rows = client.map(load, files, pure=False)
    rows = client.map(cleaned, rows)
    rows = client.map(shop.Tax(0.19).added, rows, key="tax")
    rows = client.map(scaled(2), rows, key="scale")
    rows = client.map(converted, rows, url=asked.rates)
    picked = client.map(lambda rows: rows[: asked.first], rows, key="pick")
    return sum(client.gather(client.map(total, picked)))


def main() -> None:
    """Do the night's work."""
    parser = argparse.ArgumentParser()
    parser.add_argument("cluster")
    parser.add_argument("--day")
    parser.add_argument("--input")
    parser.add_argument("--rates")
    parser.add_argument("--token")
    parser.add_argument("--seed")
    parser.add_argument("--pause", type=float, default=0)
    parser.add_argument("--first", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    with Client(asked.cluster) as client:
        client.upload_file(shop.__file__)
        client.wait_for_workers(asked.workers, timeout=15)
        print(asked.day, work(client, asked))
        time.sleep(asked.pause)


if __name__ == "__main__":
    main()
