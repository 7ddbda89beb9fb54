"""Nightly load of a wholesaler's orders.

Two clusters, as in the company: "intake" fetches the branches' order files over the flaky branch lines, "ledger"
parses and sums them.  Intake is closed before the ledger starts, because both share one machine.
"""

import csv
import io
import logging
import random
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import dask.bag as db
from distributed import Client, LocalCluster

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)-7s %(name)s: %(message)s"
)
log = logging.getLogger("orders")

BRANCHES = [
    "Aachen",
    "Bremen",
    "Chemnitz",
    "Dresden",
    "Essen",
    "Fulda",
    "Gera",
    "Halle",
    "Innsbruck",
    "Jena",
]
LINES_DOWN_ONCE = {"Chemnitz", "Gera"}


@contextmanager
def cluster_of(name, workers):
    cluster = LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        memory_limit="400MB",
        dashboard_address=":0",
        name=name,
    )
    client = Client(cluster)
    try:
        log.info("%s cluster: %s", name, client.scheduler.address)
        yield client
    finally:
        client.close()
        cluster.close()


def branch_file(branch):
    """The file as the branch's till writes it."""
    rng = random.Random(branch)
    out = io.StringIO()
    writer = csv.writer(out, delimiter=";", lineterminator="\n")
    writer.writerow(["order", "article", "quantity", "amount"])
    for number in range(300):
        amount = f"{rng.randint(100, 250_000) / 100:.2f}"
        if branch == "Innsbruck" and number > 240:
            amount = f"{rng.randint(1000, 2500)}.{rng.randint(0, 9)}00,50"  # the new till since Thursday
        writer.writerow(
            [
                f"{branch[:2].upper()}{number:05d}",
                rng.randint(10_000, 99_999),
                rng.randint(1, 40),
                amount,
            ]
        )
    return out.getvalue()


def fetch_branch(branch, state):
    """Copy a branch's file; a dropped line is left to the scheduler's retries."""
    dropped = Path(state) / f"{branch}.dropped"
    if branch in LINES_DOWN_ONCE and not dropped.exists():
        dropped.touch()
        raise ConnectionResetError(f"line to {branch} dropped")
    target = Path(state) / f"{branch}.csv"
    target.write_text(branch_file(branch))
    return str(target)


def parse_orders(path):
    with open(path, newline="") as handle:
        for row in csv.DictReader(handle, delimiter=";"):
            yield {
                "branch": Path(path).stem,
                "article": int(row["article"]),
                "quantity": int(row["quantity"]),
                "amount": Decimal(row["amount"]),
            }


def parse_files(paths):
    return [order for path in paths for order in parse_orders(path)]


def add_amount(total, order):
    return total + order["amount"]


def ledger_totals(paths):
    orders = db.from_sequence(paths, npartitions=len(paths)).map_partitions(parse_files)
    return orders.foldby(
        "branch",
        add_amount,
        Decimal(0),
        combine=lambda a, b: a + b,
        combine_initial=Decimal(0),
    )


def main():
    state = Path("state")
    state.mkdir(exist_ok=True)
    with cluster_of("intake", workers=2) as client:
        futures = client.map(
            fetch_branch, BRANCHES, state=str(state.resolve()), retries=2
        )
        paths = client.gather(futures)
        log.info("%d branch files", len(paths))

    with cluster_of("ledger", workers=2) as client:
        totals = dict(ledger_totals(paths).compute())

    for branch, total in sorted(totals.items()):
        print(f"{branch:<12}{total:>14,.2f}")


if __name__ == "__main__":
    main()
