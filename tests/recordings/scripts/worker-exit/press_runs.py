"""Plate counts of a printing house: rasterise the sheets of a run, count separations, close the run book."""

import argparse
import logging
import os
import sys
import time

import dask
import numpy as np
from distributed import Client, KilledWorker, LocalCluster, as_completed

log = logging.getLogger("press")

INKS = {
    "cyan": 0.9,
    "magenta": 0.8,
    "yellow": 0.7,
    "black": 1.0,
    "PANTONE 485 C": 0.6,
    "PANTONE 871 C": 0.4,
}


class Rip:
    """Thin wrapper of the old raster image processor; it behaves like the C program it was."""

    def __init__(self, inks):
        self.inks = inks

    def fatal(self, text):
        os.write(2, f"rip: {text}\n".encode())
        os._exit(7)

    def separation(self, ink, size, seed):
        if ink not in self.inks:
            self.fatal(f"spot colour '{ink}' not in table")
        rng = np.random.default_rng(seed)
        return (rng.random((size, size)) < self.inks[ink] * 0.4).mean()


def rasterise(sheet, inks, size=400):
    rip = Rip(INKS)
    time.sleep(0.3)
    return sheet, {
        ink: float(rip.separation(ink, size, sheet * 31 + n))
        for n, ink in enumerate(inks)
    }


class RunBook:
    """Collects what was printed; a book must not be closed with pages missing."""

    def __init__(self, title, pages):
        self.title, self.pages, self.entries = title, pages, {}

    def __enter__(self):
        log.info("run book '%s' opened, %d pages", self.title, self.pages)
        return self

    def enter(self, sheet, coverage):
        self.entries[sheet] = coverage

    def __exit__(self, *details):
        missing = sorted(set(range(self.pages)) - set(self.entries))
        if missing:
            raise RuntimeError(
                f"run book '{self.title}' is incomplete: pages {missing} have no plate count"
            ) from None
        log.info("run book '%s' closed", self.title)


def order(pages):
    """Which inks each sheet asks for."""
    sheets = []
    for sheet in range(pages):
        inks = ["cyan", "magenta", "yellow", "black"]
        if sheet % 4 == 1:
            inks.append("PANTONE 485 C")
        if sheet == 9:
            inks.append("PANTONE 8003 C")
        sheets.append(inks)
    return sheets


def print_run(client, book, sheets):
    futures = [
        client.submit(rasterise, n, inks, key=f"rasterise-{n:02d}", pure=False)
        for n, inks in enumerate(sheets)
    ]
    try:
        for future, (sheet, coverage) in as_completed(futures, with_results=True):
            book.enter(sheet, coverage)
            log.info(
                "sheet %2d: %d plates, coverage %.3f",
                sheet,
                len(coverage),
                sum(coverage.values()),
            )
    except KilledWorker:
        log.warning("press stopped early, %d sheets done", len(book.entries))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--title", default="Atlas of moths, 2nd edition")
    parser.add_argument("--pages", type=int, default=16)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )

    dask.config.set({"distributed.scheduler.allowed-failures": 1})
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="280MiB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        with RunBook(args.title, args.pages) as book:
            print_run(client, book, order(args.pages))
        plates = sum(len(inks) for inks in book.entries.values())
        log.info("%d plates to burn", plates)
    return 0


if __name__ == "__main__":
    sys.exit(main())
