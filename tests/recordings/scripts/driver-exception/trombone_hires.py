"""Month's end of a music shop that hires out instruments.

Reads the branches' hire books, puts aside what cannot be read, books the
rest and compares the total with what the bank says came in.
"""

import csv
import random
import sys
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import click
from dask.distributed import Client, LocalCluster, wait

BRANCHES = 9


def make_books(folder: Path) -> None:
    rng = random.Random(31)
    folder.mkdir(parents=True, exist_ok=True)
    total = 0
    for branch in range(1, BRANCHES + 1):
        with open(folder / f"branch_{branch}.csv", "w", newline="") as out:
            writer = csv.writer(out)
            writer.writerow(["contract", "instrument", "cents"])
            for i in range(400):
                cents = rng.randrange(1500, 9000, 50)
                total += cents
                amount = f"{cents} EUR" if branch == 4 and i == 120 else cents
                writer.writerow(
                    [
                        f"B{branch}-{i:04d}",
                        rng.choice(["trombone", "tuba", "cornet"]),
                        amount,
                    ]
                )
    (folder / "bank.txt").write_text(str(total))


def read_book(path: str) -> list[tuple[str, str, int]]:
    with open(path, newline="") as book:
        rows = list(csv.DictReader(book))
    return [(row["contract"], row["instrument"], int(row["cents"])) for row in rows]


def book_total(rows: list[tuple[str, str, int]]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for _, instrument, cents in rows:
        sums[instrument] = sums.get(instrument, 0) + cents
    return sums


@contextmanager
def workers(count: int):
    cluster = LocalCluster(
        n_workers=count, threads_per_worker=1, dashboard_address=":0"
    )
    client = Client(cluster)
    try:
        yield client
    finally:
        click.echo("closing the books")
        client.close()
        cluster.close()


def put_aside(folder: Path, path: Path, reason: BaseException) -> None:
    aside = folder / "aside"
    aside.mkdir(exist_ok=True)
    path.rename(aside / path.name)
    click.echo(f"put aside {path.name}: {reason}", err=True)


def check_against_bank(booked: int, bank: int, tolerance: int) -> None:
    difference = abs(booked - bank)
    assert difference <= tolerance, (
        f"books and bank differ by {Decimal(difference) / 100} (booked {Decimal(booked) / 100}, bank {Decimal(bank) / 100})"
    )


@click.command()
@click.option("--books", type=click.Path(path_type=Path), default=Path("books"))
@click.option("--tolerance", default=5000, help="difference in cents that is let pass")
@click.option("--processes", default=2)
def close_month(books: Path, tolerance: int, processes: int) -> None:
    make_books(books)
    paths = sorted(books.glob("branch_*.csv"))
    with workers(processes) as client:
        reads = client.map(read_book, [str(p) for p in paths])
        wait(reads)
        good = []
        for path, read in zip(paths, reads):
            if read.status == "error":
                put_aside(books, path, read.exception())
            else:
                good.append(read)
        sums: dict[str, int] = {}
        for part in client.gather(client.map(book_total, good)):
            for instrument, cents in part.items():
                sums[instrument] = sums.get(instrument, 0) + cents
        check_against_bank(
            sum(sums.values()), int((books / "bank.txt").read_text()), tolerance
        )
    for instrument, cents in sums.items():
        click.echo(f"{instrument}: {Decimal(cents) / 100}")


if __name__ == "__main__":
    sys.exit(close_month())
