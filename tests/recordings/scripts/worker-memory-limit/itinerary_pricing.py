"""Prices of the itineraries that the travel portal shows tomorrow.

Fare tables are large and slow to read, so a worker that has read the table of a route keeps it for the next
itinerary on that route. Pausing is switched off: the portal's window is short, and a paused worker helps nobody.
"""

import logging
import os
import sys
import time
from dataclasses import dataclass

os.environ["DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES"] = "0"
os.environ["DASK_DISTRIBUTED__WORKER__MEMORY__PAUSE"] = "False"

import numpy as np
from distributed import Client, KilledWorker, LocalCluster, get_worker

log = logging.getLogger("pricing")

AIRPORTS = ["LIS", "OSL", "ATH", "KEF", "MLA", "RIX", "GVA", "DUB", "ZAG", "TLL"]
DAYS, CLASSES, SEGMENTS = 330, 26, 180


@dataclass(frozen=True)
class Itinerary:
    origin: str
    destination: str
    day: int

    @property
    def route(self):
        return f"{self.origin}-{self.destination}"


class FareBook:
    """Fare tables by route, one book a worker."""

    def __init__(self):
        self.tables = {}

    def table(self, route):
        if route not in self.tables:
            rng = np.random.default_rng(sum(map(ord, route)))
            time.sleep(0.02)
            self.tables[route] = rng.gamma(3.0, 40.0, size=(DAYS, CLASSES, SEGMENTS))
        return self.tables[route]


def fare_book():
    worker = get_worker()
    if not hasattr(worker, "fare_book"):
        worker.fare_book = FareBook()
    return worker.fare_book


def price_itinerary(itinerary):
    table = fare_book().table(itinerary.route)
    fares = table[itinerary.day % DAYS]
    time.sleep(0.03)
    return itinerary.route, itinerary.day, float(np.sort(fares, axis=None)[:50].mean())


def demand():
    routes = [(a, b) for a in AIRPORTS for b in AIRPORTS if a != b]
    return [Itinerary(a, b, day) for day in (3, 10) for a, b in routes]


def publish(prices, path):
    with open(path, "w") as out:
        for route, day, price in sorted(prices):
            out.write(f"{route},{day},{price:.2f}\n")


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    itineraries = demand()
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="320MB", dashboard_address=":0"
    )
    client = Client(cluster)
    try:
        for attempt in (1, 2):
            log.info("pricing %d itineraries, attempt %d", len(itineraries), attempt)
            try:
                prices = client.gather(
                    client.map(price_itinerary, itineraries, pure=False)
                )
                break
            except KilledWorker as error:
                log.warning("attempt %d did not come through: %s", attempt, error)
                if attempt == 2:
                    raise RuntimeError(
                        "no prices for tomorrow, the portal keeps yesterday's"
                    ) from None
                client.restart()
        publish(prices, "prices.csv")
    finally:
        client.close()
        cluster.close()


if __name__ == "__main__":
    sys.exit(main())
