"""Quarterly stress test of a mortgage book.

The book is cut by region; every region is priced under each of the central bank's scenarios and the worst loss is
kept.  A region is one job, and prices its scenarios as jobs of their own so that big regions spread over the machine.
"""

import argparse
import logging
import sys
from datetime import date

import numpy as np
from distributed import Client, LocalCluster, as_completed, get_client

logger = logging.getLogger("stress")

SCENARIOS = {
    "baseline": (0.000, 0.00),
    "rates_up": (0.025, -0.08),
    "crash": (0.010, -0.35),
    "stagflation": (0.040, -0.15),
}


class Book:
    """Loans as three columns; drawn at random here, from the ledger in the bank."""

    def __init__(self, region, size):
        rng = np.random.default_rng(sum(map(ord, region)))
        self.region = region
        self.balance = rng.lognormal(12.1, 0.4, size)
        self.ltv = rng.uniform(0.35, 0.98, size)
        self.income = rng.lognormal(10.9, 0.3, size)

    def __len__(self):
        return len(self.balance)


def load_region(region, size):
    return Book(region, size)


def price_scenario(book, name):
    shock, house_prices = SCENARIOS[name]
    burden = book.balance * (0.045 + shock) / book.income
    probability = 1 / (1 + np.exp(-(burden - 0.55) * 9))
    value = book.balance / book.ltv * (1 + house_prices)
    loss_given_default = np.clip(book.balance - 0.85 * value, 0, None)
    return name, float((probability * loss_given_default).sum())


def stress_region(book):
    """Worst scenario of one region."""
    client = get_client()
    prices = [
        client.submit(price_scenario, book, name, pure=False) for name in SCENARIOS
    ]
    losses = dict(client.gather(prices))
    worst = max(losses, key=losses.get)
    return {
        "region": book.region,
        "loans": len(book),
        "worst": worst,
        "loss": losses[worst],
    }


def parse(argv):
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--as-of", type=date.fromisoformat, default=date(2026, 9, 30))
    p.add_argument(
        "--regions",
        nargs="+",
        default=["north", "west", "south", "capital", "islands", "lakes"],
    )
    p.add_argument("--loans", type=int, default=40_000)
    p.add_argument(
        "--deadline",
        type=float,
        default=18.0,
        help="seconds until the window of the risk system closes",
    )
    return p.parse_args(argv)


def main(argv=None):
    args = parse(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(levelname)s %(name)s: %(message)s"
    )
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=":0"
    )
    client = Client(cluster)
    rows = []
    try:
        # the smallest region first, on its own, to see that the parameters make sense
        pilot = client.submit(load_region, "islets", 500)
        row = client.submit(stress_region, pilot, pure=False).result(
            timeout=args.deadline
        )
        logger.info("pilot: worst case is %s", row["worst"])

        books = client.map(load_region, args.regions, [args.loans] * len(args.regions))
        futures = client.map(stress_region, books, pure=False)
        for _, row in as_completed(futures, with_results=True, timeout=args.deadline):
            logger.info(
                "%(region)s: %(loans)d loans, worst case %(worst)s, loss %(loss).0f",
                row,
            )
            rows.append(row)
    except TimeoutError:
        logger.error(
            "window closed with %d of %d regions priced", len(rows), len(args.regions)
        )
        raise
    finally:
        client.close()
        cluster.close()
    print(f"{args.as_of}: total loss {sum(r['loss'] for r in rows):.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
