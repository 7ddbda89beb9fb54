"""Duty-free prices of the ferry terminals for the next day.

The exchange rates of the evening bulletin are published once, as a Variable on
the cluster; the shops wait until they are there and convert their price lists.
"""

import argparse
import logging
import random
import sys
import time
from decimal import Decimal

from distributed import (
    Client,
    Event,
    LocalCluster,
    Variable,
    as_completed,
    fire_and_forget,
)

log = logging.getLogger("jetty")

BULLETIN = """\
USD;1.0841
GBP;0.8562
NOK;11.6120
DKK;7.4591
SEK;11,4250
PLN;4.2705
"""

SHOPS = {
    "Kiel": "DKK",
    "Gdynia": "PLN",
    "Trelleborg": "SEK",
    "Harwich": "GBP",
    "Kristiansand": "NOK",
    "Frederikshavn": "DKK",
}


def read_price_list(shop, items=40):
    """Net prices in EUR, as the till exports them."""
    rng = random.Random(shop)
    time.sleep(0.5)
    return [
        (f"{shop[:2].upper()}{n:03d}", rng.randrange(300, 9000)) for n in range(items)
    ]


def parse_bulletin(text):
    rates = {}
    for line in text.splitlines():
        code, _, rate = line.partition(";")
        rates[code] = Decimal(rate)
    return rates


def publish_rates(text):
    rates = parse_bulletin(text)
    Variable("jetty-rates").set({code: str(rate) for code, rate in rates.items()})
    Event("jetty-rates-ready").set()
    return len(rates)


def price_shop(shop, currency, prices, patience):
    if not Event("jetty-rates-ready").wait(timeout=patience):
        raise TimeoutError(f"{shop}: no exchange rates after {patience} s")
    rate = Decimal(Variable("jetty-rates").get(timeout=10)[currency])
    return {
        sku: (Decimal(cents) / 100 * rate).quantize(Decimal("0.05"))
        for sku, cents in prices
    }


def collect(futures):
    done, missing = {}, []
    for future in as_completed(futures):
        shop = futures[future]
        try:
            done[shop] = future.result()
            log.info("%s: %d prices", shop, len(done[shop]))
        except TimeoutError as exc:
            log.error("%s", exc)
            missing.append(shop)
    return done, missing


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--patience", type=float, default=14, help="seconds a shop waits for the rates"
    )
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=2,
            memory_limit="250MB",
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        Client(cluster) as client,
    ):
        lists = {shop: client.submit(read_price_list, shop) for shop in SHOPS}
        log.info("price lists of %d shops", len(client.gather(lists)))

        # nobody needs its result, the shops look at the event
        fire_and_forget(client.submit(publish_rates, BULLETIN, priority=10))

        futures = {
            client.submit(price_shop, shop, currency, lists[shop], args.patience): shop
            for shop, currency in SHOPS.items()
        }
        done, missing = collect(futures)
    if missing:
        sys.exit(
            f"{len(missing)} of {len(SHOPS)} shops without prices: {', '.join(sorted(missing))}"
        )
    log.info("prices of %d shops ready", len(done))


if __name__ == "__main__":
    main()
