"""Weekly conversion of buckle orders from the customers' own formats into the plating shop's plan.

Eight customers send files.  A customer whose file cannot be converted is reported by mail (here: on
standard output), the others go ahead; the exit code tells the scheduler of jobs.
"""

import io
import logging
import sys
import time

import pandas as pd
from distributed import Client, as_completed

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
logger = logging.getLogger("buckles")

FINISHES = ["nickel", "brass", "gunmetal"]


def customer_file(number):
    """Stands for the SFTP folder of one customer."""
    decimal = "," if number in (2, 5, 6) else "."
    lines = ["article;finish;width_mm;pieces"]
    for row in range(400):
        width = f"{15 + row % 30}{decimal}{row % 10}"
        lines.append(f"BK-{number}{row:04d};{FINISHES[row % 3]};{width};{100 + row}")
    return "\n".join(lines)


def parse_order(text):
    return pd.read_csv(io.StringIO(text), sep=";")


def plate_area(order):
    width = order["width_mm"].astype("float64")
    time.sleep(0.3)
    area = (width**2 * 0.6 * order["pieces"]).groupby(order["finish"]).sum()
    return area / 1e6


class Conversion:
    def __init__(self, client, customers):
        self.client = client
        self.customers = customers
        self.plan = {}
        self.failed = []

    def submit(self):
        futures = {}
        for customer in self.customers:
            parsed = self.client.submit(
                parse_order, customer_file(customer), key=f"parse-{customer}"
            )
            futures[
                self.client.submit(plate_area, parsed, key=f"plate_area-{customer}")
            ] = customer
        return futures

    def run(self):
        futures = self.submit()
        for future in as_completed(futures):
            customer = futures[future]
            try:
                self.plan[customer] = future.result()
            except Exception:
                self.failed.append(customer)
                logger.warning("customer %s left out of this week's plan", customer)
        return self

    def store(self):
        frame = pd.DataFrame(self.plan).T.sort_index()
        frame.to_csv("plating_plan.csv")
        logger.info("plan of %d customers written", len(frame))


def main():
    with Client(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=None
    ) as client:
        conversion = Conversion(client, range(1, 9)).run()
        conversion.store()
    if conversion.failed:
        sys.exit(f"{len(conversion.failed)} of {len(conversion.customers)} failed")


if __name__ == "__main__":
    main()
