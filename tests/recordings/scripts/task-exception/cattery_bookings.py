"""Occupancy of the catteries, from the booking files of all branches."""

import json
import random
import shutil
import tempfile
from pathlib import Path

import click
import dask.bag as db
from dask.distributed import Client, LocalCluster

BRANCHES = ["bath", "crewe", "dover", "frome", "leeds", "poole", "ripon", "truro"]
# these three still have the old desk software
OLD_DESKS = {"dover", "leeds", "ripon"}
OWNERS = ["Ames", "Böhm", "Claes", "Dvořák", "Élise", "Farr", "Gómez"]


def export(folder, branch):
    """What the desk of a branch leaves on the share at closing time."""
    rng = random.Random(branch)
    lines = []
    for number in range(300):
        owner = rng.choice(OWNERS)
        if branch in OLD_DESKS:
            owner = owner.replace("ř", "r")
        lines.append(
            json.dumps(
                {
                    "id": number,
                    "owner": owner,
                    "nights": rng.randint(1, 14),
                    "pen": rng.choice("ABCD"),
                    "cats": rng.randint(1, 3),
                },
                ensure_ascii=False,
            )
        )
    encoding = "latin-1" if branch in OLD_DESKS else "utf-8"
    path = Path(folder) / f"{branch}.jsonl"
    path.write_bytes("\n".join(lines).encode(encoding))
    return str(path)


def load_branch(path):
    branch = Path(path).stem
    bookings = []
    with open(path, encoding="utf-8") as source:
        for line in source:
            booking = json.loads(line)
            booking["branch"] = branch
            bookings.append(booking)
    return bookings


def cat_nights(booking):
    return booking["nights"] * booking["cats"]


def price_list(year):
    """Last year's prices hold as long as there are no new ones."""
    prices = {2025: {"A": 14.0, "B": 12.5, "C": 11.0, "D": 19.0}}
    try:
        return prices[year]
    except KeyError:
        click.echo(f"no prices for {year} yet")
        return prices[year - 1]


def occupancy(paths, prices):
    bookings = (
        db.from_sequence(paths, npartitions=len(paths)).map(load_branch).flatten()
    )
    long_stays = bookings.filter(lambda booking: booking["nights"] >= 3)
    nights = long_stays.foldby(
        "pen",
        lambda total, booking: total + cat_nights(booking),
        0,
        lambda one, two: one + two,
        0,
    )
    turnover = bookings.map(lambda b: cat_nights(b) * prices[b["pen"]]).sum()
    return nights, turnover


@click.command()
@click.option("--year", default=2026, show_default=True)
@click.option("--workers", default=2, show_default=True)
def main(year, workers):
    """Print nights per pen and the turnover of the season."""
    share = tempfile.mkdtemp(prefix="cattery-")
    try:
        paths = [export(share, branch) for branch in BRANCHES]
        prices = price_list(year)
        with (
            LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                memory_limit="400MB",
                dashboard_address=":0",
            ) as cluster,
            Client(cluster) as client,
        ):
            nights, turnover = occupancy(paths, prices)
            nights, turnover = client.gather(client.compute([nights, turnover]))
        for pen, total in sorted(nights):
            click.echo(f"pen {pen}: {total} nights")
        click.echo(f"turnover {turnover:,.2f}")
    finally:
        shutil.rmtree(share, ignore_errors=True)


if __name__ == "__main__":
    main()
