"""Rent index of four cities, taken from the offers of the last month.

The portals answer slowly but allow many calls at a time, so each city is fetched by a small cluster of one
worker with many threads, in a network zone of its own; the zones may not be open at the same time.
"""

import logging
import statistics
import tempfile
import time

import numpy as np
from dask.distributed import Client, LocalCluster

log = logging.getLogger("rents")
CITIES = {"Graz": 24, "Linz": 20, "Wels": 16, "Steyr": 18}
THREADS = 12


def fetch_offers(city, page):
    """One page of offers; the portal takes its time."""
    time.sleep(1.1)
    rng = np.random.default_rng([len(city), page])
    return [
        (float(area), float(area * rng.normal(12.4, 1.5)))
        for area in rng.uniform(28, 130, 40)
    ]


def per_square_metre(offers):
    time.sleep(0.3)
    return [rent / area for area, rent in offers if area > 30]


def index_of(prices):
    joined = [price for page in prices for price in page]
    return {"offers": len(joined), "median": statistics.median(joined)}


def city_index(city, pages, folder):
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=THREADS,
            memory_limit="450MB",
            dashboard_address=None,
            local_directory=folder,
            name=f"zone-{city.lower()}",
        ) as cluster,
        Client(cluster) as client,
    ):
        offers = client.map(
            fetch_offers, [city] * pages, range(pages), key=f"fetch_offers-{city}"
        )
        prices = client.map(per_square_metre, offers, key=f"per_square_metre-{city}")
        return client.submit(index_of, prices, key=f"index_of-{city}").result()


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    table = {}
    with tempfile.TemporaryDirectory() as folder:
        for city, pages in CITIES.items():
            table[city] = city_index(city, pages, folder)
            log.info("%s done, zone closed", city)
    base = table["Graz"]["median"]
    for city, row in table.items():
        print(
            f"{city:<6} {row['offers']:5d} offers {row['median']:6.2f} EUR/m2 {100 * row['median'] / base:6.1f}"
        )


if __name__ == "__main__":
    main()
