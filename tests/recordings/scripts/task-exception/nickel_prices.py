"""Value the nickel stock of the warehouses with the fixings of the day.

A loader thread reads the fixings with the cluster and publishes the average
as the variable "nickel-fixing"; the valuation tasks pick it up from there.
"""

import argparse
import logging
import random
import tempfile
import threading
import time
from decimal import Decimal

from distributed import Client, LocalCluster, Variable

log = logging.getLogger("nickel")

FIXINGS = """\
2026-11-16;LME;16840.5
2026-11-17;LME;16912.0
2026-11-18;LME;17005.5
2026-11-19;LME;169O1.0
2026-11-20;LME;16877.5
2026-11-23;LME;16930.0
2026-11-24;LME;16988.5
""".splitlines()

WAREHOUSES = ["Rotterdam", "Busan", "Kaohsiung", "Johor", "Baltimore", "Antwerp"]


def parse_fixing(line):
    day, place, price = line.split(";")
    time.sleep(0.2)
    return day, place, Decimal(price)


def mean_fixing(rows):
    prices = [price for _, _, price in rows]
    return float(sum(prices) / len(prices))


def count_lots(warehouse, seed):
    """Number of lots by brand, as the warrant system has them."""
    rng = random.Random(f"{warehouse}{seed}")
    time.sleep(0.3)
    return {
        brand: rng.randrange(5, 80)
        for brand in ("full plate", "cut", "briquettes", "pellets")
    }


def value_stock(warehouse, lots, tonnes_per_lot=6):
    fixing = Variable("nickel-fixing").get(timeout="12s")
    premium = {"full plate": 0, "cut": 120, "briquettes": 260, "pellets": 190}
    total = sum(
        n * tonnes_per_lot * (fixing + premium[brand]) for brand, n in lots.items()
    )
    return warehouse, round(total, 2)


class FixingLoader(threading.Thread):
    """Loads the fixings beside the count of the lots."""

    def __init__(self, client, lines):
        super().__init__(name="fixing-loader", daemon=True)
        self.client = client
        self.lines = lines

    def run(self):
        started = time.monotonic()
        try:
            rows = self.client.gather(
                self.client.map(parse_fixing, self.lines, pure=False)
            )
            Variable("nickel-fixing", client=self.client).set(mean_fixing(rows))
            log.info("fixings of %d days published", len(rows))
        except Exception:
            # the next cycle comes in ten minutes
            log.warning(
                "fixing loader: cycle skipped after %.1f s", time.monotonic() - started
            )


def count_all(client, seed):
    futures = {w: client.submit(count_lots, w, seed) for w in WAREHOUSES}
    return {w: f.result() for w, f in futures.items()}


def value_all(client, lots):
    futures = [client.submit(value_stock, w, n) for w, n in lots.items()]
    return dict(client.gather(futures))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    with tempfile.TemporaryDirectory(prefix="nickel-") as scratch:
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                dashboard_address=":0",
                local_directory=scratch,
            ) as cluster,
            Client(cluster) as client,
        ):
            loader = FixingLoader(client, FIXINGS)
            loader.start()
            lots = count_all(client, args.seed)
            log.info("counted %d lots", sum(sum(n.values()) for n in lots.values()))
            values = value_all(client, lots)
            for warehouse, value in sorted(values.items()):
                log.info("%-12s %15.2f USD", warehouse, value)


if __name__ == "__main__":
    main()
