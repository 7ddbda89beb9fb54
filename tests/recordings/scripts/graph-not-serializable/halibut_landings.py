"""Daily landings of halibut and other flatfish: revenue per port from the auction clocks' sale slips."""

import collections
import logging
import random
import threading
import time

import dask
from dask import delayed
from distributed import Client, LocalCluster

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
log = logging.getLogger("landings")

PORTS = ("Peterhead", "Lerwick", "Scrabster", "Newlyn", "Brixham", "Fraserburgh")
SPECIES = ("halibut", "turbot", "plaice", "lemon sole")


class ExchangeRates:
    """Rates of the day, fetched once for each currency."""

    def __init__(self, day):
        self.day = day
        self._rates = {}
        self._guard = threading.Lock()

    def to_pounds(self, amount, currency):
        with self._guard:
            if currency not in self._rates:
                self._rates[currency] = {"GBP": 1.0, "EUR": 0.86, "NOK": 0.073}[
                    currency
                ]
        return amount * self._rates[currency]


class Auction:
    def __init__(self, day, client):
        self.day = day
        self.client = client
        self.totals = collections.Counter()

    def slips(self, port):
        @delayed(name=f"slips-{port}")
        def read(seed, n):
            rng = random.Random(seed)
            return [
                (
                    rng.choice(SPECIES),
                    rng.uniform(2, 90),
                    rng.uniform(4, 18),
                    rng.choice(("GBP", "EUR", "NOK")),
                )
                for _ in range(n)
            ]

        return read(f"{port}{self.day}", 4000)

    def volumes(self):
        def weight(rows):
            out = collections.Counter()
            for species, kilos, _, _ in rows:
                out[species] += kilos
            return out

        parts = [delayed(weight)(self.slips(p)) for p in PORTS]
        for part in dask.compute(*parts):
            self.totals.update(part)
        log.info("landed: %s", {k: round(v) for k, v in self.totals.items()})

    def check_yesterday(self):
        """Compare with yesterday's published figures, when there are any."""
        try:
            published = self.client.get_dataset(f"landings-{self.day - 1}")
        except KeyError as e:
            log.warning("nothing to compare with: %s", e)
            return
        log.info("yesterday: %s", published)

    def revenues(self, rates):
        def revenue(port, rows):
            sums = collections.Counter()
            for species, kilos, price, currency in rows:
                sums[species] += rates.to_pounds(kilos * price, currency)
            return port, dict(sums)

        tasks = [
            delayed(revenue)(p, self.slips(p), dask_key_name=f"revenue-{p}")
            for p in PORTS
        ]
        futures = self.client.compute(tasks)
        return dict(self.client.gather(futures))


def main(day=332):
    started = time.time()
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            auction = Auction(day, client)
            auction.volumes()
            auction.check_yesterday()
            rates = ExchangeRates(day)
            log.info("one euro is %.2f pounds", rates.to_pounds(1, "EUR"))
            for port, sums in sorted(auction.revenues(rates).items()):
                print(f"{port:12s} {sum(sums.values()):12.2f}")
    log.info("done in %.1f s", time.time() - started)


if __name__ == "__main__":
    main()
