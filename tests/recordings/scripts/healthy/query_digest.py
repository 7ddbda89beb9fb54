"""Weekly digest of the slow queries of a shop's data base.

The statements of a day are grouped on the workers, which takes a moment; between two days the program
itself renders the page of the day, which takes longer, as the template engine is old and slow.
"""

import argparse
import hashlib
import html
import random
import tempfile
import time
from pathlib import Path

import dask.bag as db
from dask.distributed import Client, LocalCluster

DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
SHAPES = [
    "select * from orders where customer = {}",
    "select sum(total) from orders where day > {}",
    "update stock set amount = amount - 1 where sku = {}",
    "delete from baskets where touched < {}",
]


def statements(day, count):
    rng = random.Random(day)
    return [
        (rng.choice(SHAPES).format(rng.randint(1, 10**6)), rng.expovariate(1 / 0.4))
        for _ in range(count)
    ]


def shape(entry):
    text, seconds = entry
    words = ["?" if word.isdigit() else word for word in text.split()]
    return " ".join(words), seconds


def add(total, entry):
    return total[0] + 1, total[1] + entry[1]


def merge(one, two):
    return one[0] + two[0], one[1] + two[1]


def grouped(day, count):
    bag = db.from_sequence(statements(day, count), npartitions=4).map(shape)
    return bag.foldby(lambda entry: entry[0], add, (0, 0.0), merge, (0, 0.0)).compute()


def render(day, groups):
    """The old template engine: every line is passed through a number of filters."""
    end = time.monotonic() + 2.5
    lines = []
    for text, (count, seconds) in sorted(groups, key=lambda g: -g[1][1]):
        lines.append(
            f"<tr><td>{html.escape(text)}</td><td>{count}</td><td>{seconds:.1f}</td></tr>"
        )
    page = "\n".join(lines)
    mark = page.encode()
    while time.monotonic() < end:
        mark = hashlib.sha256(mark).digest()
    return f"<h1>{day}</h1>\n<table>\n{page}\n</table>\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--statements", type=int, default=2000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "digest.html"
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="350MB",
                dashboard_address=None,
                local_directory=folder,
            ) as cluster,
            Client(cluster),
        ):
            with out.open("w") as target:
                for day in DAYS:
                    groups = grouped(day, args.statements)
                    target.write(render(day, groups))
                    print(f"{day}: {len(groups)} shapes of statements")
        print(f"digest of {out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
