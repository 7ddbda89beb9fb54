"""Visits per museum patron.

The turnstiles of the museums write a file per day with the number of the card that was held to the reader.
Visits per card are counted day by day and added up, for the letter that goes to the most faithful patrons.
"""

import logging
import os
import sys
import tempfile

import dask
import numpy as np
import pandas as pd
from dask import delayed
from dask.distributed import Client

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("patrons")

CARDS = 200_000
HOUSES = ("old-masters", "natural-history", "tram-depot")


def write_days(folder, days=10):
    rng = np.random.default_rng(5)
    for house in HOUSES:
        for day in range(1, days + 1):
            cards = rng.integers(1, CARDS, 4000)
            frame = pd.DataFrame(
                {"minute": np.sort(rng.integers(600, 1080, 4000)), "card": cards}
            )
            if house == "tram-depot" and day == 8:
                # somebody held the catalogue to the reader
                frame.loc[2711, "card"] = 4006381333931
            if house == "old-masters" and day == 3:
                frame = frame.rename(columns={"card": "Card"})
            frame.to_csv(os.path.join(folder, f"{house}-{day:02d}.csv"), index=False)


@delayed
def read_day(path):
    frame = pd.read_csv(path)
    try:
        return frame["card"].to_numpy()
    except KeyError:
        log.warning("%s has other headings, lower-casing them", os.path.basename(path))
        return frame.rename(columns=str.lower)["card"].to_numpy()


@delayed
def count_day(cards):
    """Visits by card number."""
    counts = np.bincount(cards, minlength=CARDS)
    return np.minimum(counts, 3)  # coming and going for a coffee counts thrice at most


@delayed
def add_up(days):
    total = np.zeros(CARDS, dtype=int)
    for counts in days:
        total[: len(counts)] += counts[:CARDS]
    return total


@delayed
def most_faithful(totals, n=10):
    total = np.sum(totals, axis=0)
    top = np.argsort(total)[::-1][:n]
    return [(int(c), int(total[c])) for c in top]


def build(folder):
    per_house = []
    for house in HOUSES:
        files = sorted(f for f in os.listdir(folder) if f.startswith(house))
        per_house.append(
            add_up([count_day(read_day(os.path.join(folder, f))) for f in files])
        )
    return most_faithful(per_house)


def main():
    with tempfile.TemporaryDirectory() as folder:
        write_days(folder)
        letters = build(folder)
        with dask.config.set({"distributed.scheduler.allowed-failures": 1}):
            client = Client(
                n_workers=2,
                threads_per_worker=2,
                memory_limit="400MB",
                dashboard_address=":0",
            )
        try:
            top = client.compute(letters, retries=1).result(timeout=50)
        finally:
            client.shutdown()
        for card, visits in top:
            print(f"card {card:06d}: {visits} visits")
    return 0


if __name__ == "__main__":
    sys.exit(main())
