"""Order desk of a basket maker: stock is counted, orders are matched with it, and parcels are priced.

The size of the cluster follows the stage, as the machine is shared with the web shop.
"""

import configparser
import logging
import random
import sys
import time

from dask.distributed import Client, LocalCluster

SETTINGS = """
[count]
workers = 3
after = 1

[match]
workers = 2
after = 0

[price]
patience = 15
"""

log = logging.getLogger("orders")


def count_shelf(shelf):
    time.sleep(0.4)
    rng = random.Random(shelf)
    return {f"basket-{number}": rng.randint(0, 9) for number in range(30)}


def match_orders(stock, seed):
    rng = random.Random(seed)
    time.sleep(0.5)
    if seed == 4:
        raise KeyError("basket-31")
    return [name for name, pieces in stock.items() if pieces > rng.randint(0, 9)]


def parcel_price(names):
    time.sleep(0.3)
    return round(sum(3.2 + len(name) * 0.1 for name in names), 2)


class Desk:
    def __init__(self, settings):
        self.settings = settings
        self.cluster = LocalCluster(
            n_workers=0,
            threads_per_worker=1,
            memory_limit="350MB",
            dashboard_address=":0",
        )
        self.client = Client(self.cluster)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.client.close()
        self.cluster.close()

    def resize(self, count):
        log.info("cluster goes to %d workers", count)
        self.cluster.scale(count)
        deadline = time.monotonic() + 20
        while len(self.client.scheduler_info(n_workers=-1)["workers"]) != count:
            if time.monotonic() > deadline:
                raise RuntimeError(f"cluster did not come to {count} workers")
            time.sleep(0.1)

    def count(self):
        self.resize(self.settings.getint("count", "workers"))
        stocks = self.client.gather(self.client.map(count_shelf, range(9)))
        self.resize(self.settings.getint("count", "after"))
        return {name: pieces for stock in stocks for name, pieces in stock.items()}

    def match(self, stock):
        self.resize(self.settings.getint("match", "workers"))
        futures = [
            self.client.submit(match_orders, stock, seed, key=f"match_orders-{seed}")
            for seed in range(8)
        ]
        matched = self.client.gather(futures, errors="skip")
        log.info(
            "%d of %d orders are matched, the others go to the back office",
            len(matched),
            len(futures),
        )
        del futures
        self.resize(self.settings.getint("match", "after"))
        return matched

    def price(self, matched):
        futures = [
            self.client.submit(parcel_price, names, key=f"parcel_price-{place}")
            for place, names in enumerate(matched)
        ]
        patience = self.settings.getfloat("price", "patience")
        deadline = time.monotonic() + patience
        return [
            future.result(timeout=max(deadline - time.monotonic(), 0.1))
            for future in futures
        ]


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    settings = configparser.ConfigParser()
    settings.read_string(SETTINGS)
    with Desk(settings) as desk:
        prices = desk.price(desk.match(desk.count()))
    log.info("%d parcels, %.2f in all", len(prices), sum(prices))
    return 0


if __name__ == "__main__":
    sys.exit(main())
