"""Read the paper tickets of a restaurant chain's kitchens and count the dishes.

The reader of the tickets is an old library that sometimes takes its process with it; the cluster sees to the rest.
"""

import collections
import os
import random
import tempfile
import time
from pathlib import Path

import dask.bag as db
from dask.distributed import Client, LocalCluster

DISHES = ["risotto", "gnocchi", "saltimbocca", "caponata", "panna cotta", "tiramisu"]


def scan_folder():
    return Path(tempfile.mkdtemp(prefix="tickets-"))


def legacy_reader(number, folder):
    """Gives the lines of a ticket."""
    crumpled = folder / f"{number}.crumpled"
    if number == 57 and not crumpled.exists():
        crumpled.touch()
        os._exit(66)
    rng = random.Random(number)
    time.sleep(0.05)
    return [
        f"{rng.randint(1, 4)} x {rng.choice(DISHES)}" for _ in range(rng.randint(1, 8))
    ]


def parse_line(line):
    count, _, dish = line.partition(" x ")
    if dish not in DISHES:
        raise ValueError(f"unknown dish {dish!r}")
    return dish, int(count)


def count_tickets(numbers, folder):
    counts = collections.Counter()
    for number in numbers:
        for line in legacy_reader(number, folder):
            dish, n = parse_line(line)
            counts[dish] += n
    return [counts]


def add(left, right):
    return left + right


def main():
    folder = scan_folder()
    try:
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=None,
        ) as cluster:
            with Client(cluster):
                tickets = db.from_sequence(range(160), npartitions=16)
                counts = (
                    tickets.map_partitions(count_tickets, folder)
                    .fold(add, initial=collections.Counter())
                    .compute()
                )
        for dish, n in counts.most_common():
            print(f"{dish:<14}{n:>6}")
        assert set(counts) == set(DISHES)
    finally:
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()


if __name__ == "__main__":
    main()
