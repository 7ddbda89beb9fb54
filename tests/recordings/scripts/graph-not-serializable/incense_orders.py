"""Prices for the orders of an incense trader.

Exchange rates come from a service that is slow, thus there is a cache in front of it, which all parts of the program
share. Orders are priced in batches as delayed calls; the invoice numbers are given when all are priced.
"""

import collections
import datetime
import logging
import sys
import threading

import dask
from distributed import Client, LocalCluster

log = logging.getLogger("incense")
Order = collections.namedtuple("Order", "number article grams currency")


class RateService:
    RATES = {"INR": 0.0109, "OMR": 2.41, "USD": 0.92, "EUR": 1.0}

    def fetch(self, currency):
        if currency not in self.RATES:
            raise LookupError(f"no rate for {currency}")
        return self.RATES[currency]


class RateCache:
    """Rates of the day; safe to use from the threads of the web shop too."""

    def __init__(self, service):
        self.service = service
        self.guard = threading.RLock()
        self.rates = {}

    def get(self, currency):
        with self.guard:
            if currency not in self.rates:
                self.rates[currency] = self.service.fetch(currency)
            return self.rates[currency]

    def warm(self, currencies):
        for currency in currencies:
            try:
                self.get(currency)
            except LookupError as e:
                log.warning("%s, orders in it are put aside", e)


class Pricing:
    PER_KILO = {
        "oud": 21000.0,
        "frankincense": 64.0,
        "sandalwood": 310.0,
        "benzoin": 41.0,
    }

    def __init__(self, client, cache):
        self.client = client
        self.cache = cache
        self.invoices = []

    def plan(self, orders, size=25):
        cache, per_kilo = self.cache, self.PER_KILO

        @dask.delayed
        def price_batch(batch):
            return [
                (o.number, per_kilo[o.article] * o.grams / 1000 / cache.get(o.currency))
                for o in batch
            ]

        @dask.delayed
        def total(batches):
            return {
                number: round(value, 2) for batch in batches for number, value in batch
            }

        return total(
            [price_batch(orders[i : i + size]) for i in range(0, len(orders), size)]
        )

    def number(self, priced):
        today = datetime.date.today()
        self.invoices = [
            (f"{today:%Y%m}-{i:05d}", n, v)
            for i, (n, v) in enumerate(sorted(priced.items()))
        ]


def todays_orders(n=400):
    articles, currencies = list(Pricing.PER_KILO), ["INR", "OMR", "USD", "EUR", "YER"]
    return [
        Order(i, articles[i % 4], 50 + i % 300, currencies[i % 5]) for i in range(n)
    ]


def send(invoices, expected):
    if len(invoices) != expected:
        log.error("%d invoices for %d orders, nothing is sent", len(invoices), expected)
        return False
    log.info("%d invoices sent", len(invoices))
    return True


def main():
    logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s")
    cache = RateCache(RateService())
    cache.warm(["INR", "OMR", "USD", "EUR", "YER"])
    orders = [o for o in todays_orders() if o.currency in cache.rates]
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="300MB", dashboard_address=None
    )
    client = Client(cluster)
    pricing = Pricing(client, cache)
    print(
        "share of oud:",
        client.submit(
            lambda o: sum(x.article == "oud" for x in o) / len(o), orders
        ).result(),
    )
    try:
        pricing.number(pricing.plan(orders).compute())
    finally:
        sent = send(pricing.invoices, len(orders))
        client.close()
        cluster.close()
    return 0 if sent else 3


if __name__ == "__main__":
    sys.exit(main())
