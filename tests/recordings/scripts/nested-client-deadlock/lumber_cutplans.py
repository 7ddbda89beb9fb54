"""Cutting plans for the sawmill's orders of tomorrow.

An order consists of a few beams; for each beam the best pattern of cuts is
searched for on its own, so that large orders spread over the machine.
"""

import itertools
import random
import sys
import tempfile
import time

import click
from distributed import Client, LocalCluster, get_client

STOCK = [2400, 3000, 3600, 4800]


def search_pattern(pieces, kerf):
    """The stock length that wastes least, by trying the orders of the pieces."""
    best = None
    for stock in STOCK:
        for order in itertools.islice(itertools.permutations(pieces), 2000):
            length, boards = 0, 1
            for piece in order:
                if length + piece + kerf > stock:
                    boards, length = boards + 1, 0
                length += piece + kerf
            waste = boards * stock - sum(pieces)
            if best is None or waste < best[0]:
                best = (waste, stock, boards)
    return best


def beams_of(order):
    rng = random.Random(order)
    return [
        [rng.randrange(300, 1500, 50) for _ in range(6)]
        for _ in range(rng.randrange(2, 5))
    ]


def plan_order(order, kerf):
    time.sleep(0.2)  # the order's sheet comes from the archive
    client = get_client()
    searches = [
        client.submit(search_pattern, pieces, kerf) for pieces in beams_of(order)
    ]
    waste = boards = 0
    for search in searches:
        best = search.result()
        waste += best[0]
        boards += best[2]
    return {"order": order, "boards": boards, "waste_mm": waste}


def describe(plan):
    return f"{plan['order']:>8}  {plan['boards']:>3} boards  {plan['waste_mm']:>6} mm waste"


@click.command()
@click.option("--day", default="2026-11-29")
@click.option("--orders", default=8, show_default=True)
@click.option("--kerf", default=4, help="width of the saw blade in mm")
def main(day, orders, kerf):
    scratch = tempfile.TemporaryDirectory(prefix="sawmill-")
    cluster = LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        memory_limit="400MB",
        dashboard_address=None,
        local_directory=scratch.name,
    )
    client = Client(cluster)
    try:
        # one order alone, as a sample for the foreman
        sample = client.submit(plan_order, "SAMPLE", kerf).result(timeout=30)
        click.echo(f"sample: {describe(sample)}")

        numbers = [f"{day[5:7]}{day[8:]}-{n}" for n in range(orders)]
        plans = client.map(plan_order, numbers, kerf=kerf)
        click.echo(f"{len(plans)} orders for {day}")
        for plan in client.gather(plans):
            click.echo(describe(plan))
    finally:
        client.close()
        cluster.close()
        scratch.cleanup()


if __name__ == "__main__":
    sys.exit(main())
