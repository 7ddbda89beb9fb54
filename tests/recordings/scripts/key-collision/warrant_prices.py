"""End-of-day prices of a bank's warrants.

Every book is priced twice: as plain calls, which is the upper bound that the risk office wants, and as down-and-out
calls, which is what was sold.  Prices of the two runs are reconciled before they are released.
"""

import json
import logging
from math import erf, exp, log, sqrt
from pathlib import Path

import dask
from distributed import Client, LocalCluster

logger = logging.getLogger("eod")

BOOKS = {
    "AUTO": dict(spot=92.0, strike=95.0, vol=0.31, barrier=80.0),
    "BANK": dict(spot=41.5, strike=40.0, vol=0.24, barrier=36.0),
    "CHEM": dict(spot=128.0, strike=120.0, vol=0.22, barrier=110.0),
    "ENRG": dict(spot=63.0, strike=66.0, vol=0.35, barrier=55.0),
    "TECH": dict(spot=210.0, strike=205.0, vol=0.40, barrier=170.0),
    "UTIL": dict(spot=18.2, strike=18.0, vol=0.15, barrier=16.5),
}
RATE, YEARS = 0.021, 0.75


class ReconciliationError(Exception):
    """The two runs of a book contradict each other."""


def normal(x):
    return 0.5 * (1.0 + erf(x / sqrt(2.0)))


def price_call(spot, strike, vol, barrier):
    d1 = (log(spot / strike) + (RATE + vol * vol / 2) * YEARS) / (vol * sqrt(YEARS))
    return spot * normal(d1) - strike * exp(-RATE * YEARS) * normal(
        d1 - vol * sqrt(YEARS)
    )


def price_down_and_out(spot, strike, vol, barrier):
    """Merton's closed form: the call less its mirror image in the barrier."""
    power = 2 * RATE / vol**2 - 1
    image = price_call(barrier * barrier / spot, strike, vol, barrier)
    return price_call(spot, strike, vol, barrier) - (barrier / spot) ** power * image


class PricingRun:
    """All books with one pricer.  Keys are readable, so that the desk finds them on the dashboard."""

    def __init__(self, client, pricer, day):
        self.client, self.pricer, self.day = client, pricer, day

    def submit(self):
        return {
            book: self.client.submit(
                self.pricer, **terms, key=f"price-{book}-{self.day}"
            )
            for book, terms in BOOKS.items()
        }


def collect(futures):
    return {
        book: round(future.result(timeout=20), 4) for book, future in futures.items()
    }


def reconcile(upper, sold):
    """A down-and-out call is worth strictly less than the call without a barrier."""
    wrong = [book for book in BOOKS if not sold[book] < upper[book]]
    for book in wrong:
        logger.warning("%s: sold %.4f, upper bound %.4f", book, sold[book], upper[book])
    if wrong:
        raise ReconciliationError(
            f"{len(wrong)} of {len(BOOKS)} books not below their upper bound: {', '.join(wrong)}"
        )


def release(prices, target):
    target.write_text(json.dumps(prices, indent=1))
    logger.info("released %s", target)


def main():
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s %(message)s")
    dask.config.set({"distributed.admin.log-length": 2000})
    day = "2026-10-30"
    with LocalCluster(
        n_workers=2, threads_per_worker=2, memory_limit="400MB", dashboard_address=":0"
    ) as cluster:
        with (
            Client(cluster) as risk,
            Client(cluster) as sales,
        ):  # either desk sees its own usage on the dashboard
            calls = PricingRun(risk, price_call, day).submit()
            upper = collect(calls)
            logger.info("upper bounds of %d books", len(upper))
            barriers = PricingRun(sales, price_down_and_out, day).submit()
            sold = collect(barriers)
            logger.info("sold prices of %d books", len(sold))
            reconcile(upper, sold)
    release(sold, Path(f"warrants_{day}.json"))


if __name__ == "__main__":
    main()
