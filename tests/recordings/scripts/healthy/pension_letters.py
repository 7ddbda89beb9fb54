"""Yearly letters of a pension fund: entitlements are computed by year of birth, each batch is then typeset.

Typesetting is done by this program, with a library that only runs in one process.
"""

import argparse
import pathlib
import random
import textwrap
import time

from dask.distributed import Client, LocalCluster

TEXT = """Dear member {number}, by the end of the year your entitlement came to {amount:.2f} a month.
Please keep this letter with your papers. Questions are answered by the members' desk on working days."""


def members_born_in(year, count=40):
    rng = random.Random(year)
    return [
        (f"{year}-{number:03d}", rng.uniform(18_000, 72_000), rng.randint(5, 40))
        for number in range(count)
    ]


def entitlement(members):
    """Adds up the points of a group."""
    time.sleep(0.25)
    return [(number, salary * years * 0.0015 / 12) for number, salary, years in members]


def largest(groups):
    time.sleep(0.1)
    return max(amount for group in groups for _, amount in group)


class Typesetter:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(exist_ok=True)
        self.pages = 0

    def letter(self, number, amount):
        body = textwrap.fill(TEXT.format(number=number, amount=amount), width=60)
        (self.folder / f"{number}.txt").write_text(body)
        self.pages += 1

    def batch(self, groups):
        """The fonts are laid out anew for every batch, which takes seconds."""
        until = time.perf_counter() + 2.5
        while time.perf_counter() < until:
            sum(ord(letter) for letter in TEXT * 50)
        for group in groups:
            for number, amount in group:
                self.letter(number, amount)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=1962)
    parser.add_argument("--batches", type=int, default=6)
    options = parser.parse_args()
    setter = Typesetter("letters")
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            for batch in range(options.batches):
                first = options.first + batch * 4
                futures = client.map(
                    entitlement,
                    [members_born_in(year) for year in range(first, first + 4)],
                )
                top = client.submit(largest, futures)
                groups, amount = client.gather([futures, top])
                setter.batch(groups)
                print(
                    f"born {first} to {first + 3}: {len(groups)} groups, at most {amount:.2f}",
                    flush=True,
                )
    print(setter.pages, "letters are ready for the printer")


if __name__ == "__main__":
    main()
