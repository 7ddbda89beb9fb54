"""Nightly price book of the glazing shops.

Reads the price lists of all suppliers, works out the quote for every pane format
of every shop, and appends the quotes to the price book (one CSV per region).
The book is read by the tills at six in the morning.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import fcntl
import logging
import random
import sys
import tempfile
import time
from pathlib import Path

from dask.distributed import Client, LocalCluster, wait

log = logging.getLogger("glazier.quotes")

REGIONS = ["north", "coast", "valley", "city", "lakes", "border"]
FORMATS = [(60, 80), (80, 120), (100, 150), (120, 180), (150, 240)]
GLASS = {"float": 21.5, "toughened": 38.0, "laminated": 44.75, "triple": 71.2}


@contextlib.contextmanager
def exclusive(book: Path):
    """Only one writer at a time may have the price book."""
    with open(book / "book.lock", "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        try:
            yield book
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)


def read_price_list(supplier: int) -> dict[str, float]:
    rng = random.Random(supplier)
    time.sleep(0.2)
    return {
        kind: round(base * rng.uniform(0.92, 1.11), 2) for kind, base in GLASS.items()
    }


def cheapest(lists: list[dict[str, float]]) -> dict[str, float]:
    return {kind: min(prices[kind] for prices in lists) for kind in GLASS}


def quote_shop(region: str, shop: int, prices: dict[str, float]) -> list[tuple]:
    rng = random.Random(f"{region}-{shop}")
    freight = rng.uniform(3.0, 9.0)
    rows = []
    for width, height in FORMATS:
        area = width * height / 10_000
        for kind, price in prices.items():
            rows.append(
                (
                    region,
                    shop,
                    f"{width}x{height}",
                    kind,
                    round(area * price + freight, 2),
                )
            )
    time.sleep(0.1)
    return rows


def append_quotes(book: str, region: str, shops: list[list[tuple]]) -> int:
    rows = [row for shop in shops for row in shop]
    with exclusive(Path(book)) as folder:
        with open(folder / f"{region}.csv", "a", newline="") as out:
            csv.writer(out).writerows(rows)
    return len(rows)


def build_book(client: Client, book: Path, shops: int, patience: float) -> int:
    lists = client.map(read_price_list, range(12), pure=False)
    prices = client.submit(cheapest, lists)
    log.info("best prices: %s", prices.result(timeout=120))

    quotes = {
        region: [client.submit(quote_shop, region, n, prices) for n in range(shops)]
        for region in REGIONS
    }
    wait([f for futures in quotes.values() for f in futures], timeout=120)
    log.info("%d shops quoted", shops * len(REGIONS))

    written = [
        client.submit(append_quotes, str(book), region, futures, pure=False)
        for region, futures in quotes.items()
    ]
    log.info("appending %d regions to the book", len(written))
    wait(written, timeout=patience)
    return sum(client.gather(written))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shops", type=int, default=4)
    parser.add_argument(
        "--patience", type=float, default=25, help="seconds for the last step"
    )
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )

    with (
        tempfile.TemporaryDirectory(prefix="pricebook-") as folder,
        LocalCluster(
            n_workers=2,
            threads_per_worker=2,
            memory_limit="256MiB",
            dashboard_address=":0",
            local_directory=folder,
        ) as cluster,
        Client(cluster) as client,
    ):
        # the backfill of the day before may still be running
        with exclusive(Path(folder)) as book:
            log.info("price book %s is ours", book)
            rows = build_book(client, book, args.shops, args.patience)
        log.info("price book complete, %d rows", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
