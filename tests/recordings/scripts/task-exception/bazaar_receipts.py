"""Adds up the receipts of the charity bazaar, stall by stall."""

import collections
import os
import random
import tempfile
from decimal import Decimal

import dask.bag as db

STALLS = ["cakes", "books", "toys", "plants", "wine"]


def write_receipts(folder, files=6, lines=300):
    rng = random.Random(8)
    for n in range(files):
        with open(os.path.join(folder, f"till{n}.txt"), "w", encoding="utf-8") as out:
            for line in range(lines):
                amount = f"{rng.randrange(50, 9900) / 100:.2f}"
                if n == 3 and line == 211:
                    amount = "12.5O"  # typed with the letter
                out.write(
                    f"{rng.choice(STALLS)};{amount};{rng.choice(['cash', 'card'])}\n"
                )


Receipt = collections.namedtuple("Receipt", "stall amount means")


def parse(line):
    stall, amount, means = line.strip().split(";")
    return Receipt(stall, Decimal(amount), means)


def fee(receipt):
    """The card company takes 1.4 %."""
    if receipt.means == "card":
        return receipt._replace(amount=receipt.amount * Decimal("0.986"))
    return receipt


def add(total, receipt):
    return total + receipt.amount


def plus(a, b):
    return a + b


def totals(folder):
    receipts = db.read_text(os.path.join(folder, "till*.txt")).map(parse).map(fee)
    by_stall = receipts.foldby(stall_of, add, Decimal(0), plus, Decimal(0))
    return by_stall.compute(scheduler="threads", num_workers=2)


def stall_of(receipt):
    return receipt.stall


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="bazaar-") as folder:
        write_receipts(folder)
        for stall, total in sorted(totals(folder)):
            print(f"{stall:8s} {total:10.2f}")
