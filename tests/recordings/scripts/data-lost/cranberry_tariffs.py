"""Freight tariffs for the cranberry season.

Step one reads the carrier's tariff book on a machine that has the carrier's licence (here a worker of its own,
named "intake"); step two rates all consignments of the day with it.  As the licence is paid by the minute, the
intake machine is given back between the steps.
"""

import logging
import random
import subprocess
import sys
import time
from contextlib import contextmanager

import pandas as pd
from distributed import Client, LocalCluster, wait

log = logging.getLogger("tariffs")
ZONES = ["N", "NE", "E", "SE", "S", "SW", "W", "NW"]


def parse_book(seed):
    rnd = random.Random(seed)
    rows = [
        (zone, limit, round(2 + limit * 0.011 + rnd.random(), 2))
        for zone in ZONES
        for limit in range(50, 2050, 50)
    ]
    return pd.DataFrame(rows, columns=["zone", "upto_kg", "price"])


def rate_consignments(book, day, batch):
    rnd = random.Random(day * 100 + batch)
    total = 0.0
    for _ in range(150):
        zone, kilos = rnd.choice(ZONES), rnd.uniform(5, 1900)
        rows = book[(book["zone"] == zone) & (book["upto_kg"] >= kilos)]
        total += float(rows["price"].iloc[0])
    return day, batch, round(total, 2)


@contextmanager
def licensed_machine(client, address):
    """A worker on the machine with the licence, for as long as the block lasts."""
    proc = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "dask",
            "worker",
            address,
            "--name",
            "intake",
            "--nthreads",
            "1",
            "--no-nanny",
            "--memory-limit",
            "300MB",
            "--no-dashboard",
            "--resources",
            "LICENCE=1",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    t0 = time.monotonic()
    while "intake" not in {
        w.get("id") or w.get("name")
        for w in client.scheduler_info(n_workers=-1)["workers"].values()
    }:
        if time.monotonic() - t0 > 30:
            raise RuntimeError("the licensed machine does not answer")
        time.sleep(0.2)
    try:
        yield "intake"
    finally:
        proc.terminate()
        proc.wait(15)
        log.info("licensed machine given back after %.0f s", time.monotonic() - t0)


class TariffRun:
    def __init__(self, client, address):
        self.client = client
        self.address = address
        self.book = None

    def intake(self):
        with licensed_machine(self.client, self.address) as name:
            pages = self.client.map(
                parse_book, range(4), workers=[name], allow_other_workers=False
            )
            wait(pages, timeout=20)
            best = (
                pd.concat(self.client.gather(pages))
                .groupby(["zone", "upto_kg"], as_index=False)["price"]
                .min()
            )
            [self.book] = self.client.scatter([best], workers=[name])
        log.info("tariff book has %d prices", len(best))

    def rate(self, days=3, batches=6):
        futures = [
            self.client.submit(
                rate_consignments, self.book, day, batch, key=f"rate-{day}-{batch}"
            )
            for day in range(days)
            for batch in range(batches)
        ]
        rated = self.client.gather(futures)
        return (
            pd.DataFrame(rated, columns=["day", "batch", "amount"])
            .groupby("day")["amount"]
            .sum()
        )


def main():
    logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s")
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=2,
            memory_limit="400MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        run = TariffRun(client, cluster.scheduler_address)
        run.intake()
        time.sleep(1)
        amounts = run.rate()
        print(amounts.to_string())


if __name__ == "__main__":
    main()
