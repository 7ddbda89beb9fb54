"""Books the hammer prices of the day's instrument auctions in euro, one file per lot."""

import argparse
import json
import logging
import os
import random
import shutil
import tempfile
import time

from distributed import Client, LocalCluster

log = logging.getLogger("auctions")

RATES = {"EUR": 1.0, "GBP": 1.17, "USD": 0.92, "CHF": 1.04, "JPY": 0.0062}
HOUSES = {
    "London": "GBP",
    "New York": "USD",
    "Paris": "EUR",
    "Zurich": "CHF",
    "Tokyo": "JPY",
}


def parse_args(argv=None):
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--lots", type=int, default=24)
    p.add_argument(
        "--retries",
        type=int,
        default=2,
        help="the share is an NFS mount and sometimes stutters",
    )
    p.add_argument("--premium", type=float, default=0.24)
    return p.parse_args(argv)


def receive_lots(inbox, count):
    rng = random.Random(1716)
    for n in range(count):
        house = rng.choice(sorted(HOUSES))
        lot = {
            "lot": 300 + n,
            "house": house,
            "maker": rng.choice(["Guadagnini", "Vuillaume", "Gagliano", "Stainer"]),
            "hammer": rng.randrange(8_000, 900_000, 500),
            "currency": HOUSES[house],
        }
        if n == 17:
            lot["currency"] = "SEK"
        with open(os.path.join(inbox, f"lot-{lot['lot']}.json"), "w") as f:
            json.dump(lot, f)


def claim(path):
    """Take the file out of the inbox, so that the day shift's job does not book it as well."""
    mine = path + ".booking"
    os.rename(path, mine)
    return mine


def to_euro(amount, currency):
    return round(amount * RATES[currency], 2)


def book_lot(path, premium):
    mine = claim(path)
    with open(mine) as f:
        lot = json.load(f)
    time.sleep(0.8)
    euro = to_euro(lot["hammer"], lot["currency"])
    lot["paid"] = round(euro * (1 + premium), 2)
    done = os.path.join(
        os.path.dirname(os.path.dirname(path)), "booked", os.path.basename(path)
    )
    with open(done, "w") as f:
        json.dump(lot, f)
    os.remove(mine)
    return lot["house"], lot["paid"]


def per_house(pairs):
    totals = {}
    for house, paid in pairs:
        totals[house] = totals.get(house, 0.0) + paid
    return dict(sorted(totals.items(), key=lambda item: -item[1]))


def main(argv=None):
    args = parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    share = tempfile.mkdtemp(prefix="auctions-")
    inbox = os.path.join(share, "inbox")
    os.mkdir(inbox)
    os.mkdir(os.path.join(share, "booked"))
    cluster = client = None
    try:
        receive_lots(inbox, args.lots)
        paths = sorted(os.path.join(inbox, name) for name in os.listdir(inbox))
        log.info("%d lots in the inbox", len(paths))
        cluster = LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="280MiB",
            dashboard_address=":0",
        )
        client = Client(cluster)
        futures = client.map(
            book_lot, paths, premium=args.premium, retries=args.retries, pure=False
        )
        totals = client.submit(per_house, futures)
        for house, paid in totals.result(timeout=90).items():
            print(f"{house:10s} {paid:14,.2f} EUR")
    finally:
        if client is not None:
            client.close()
        if cluster is not None:
            cluster.close()
        shutil.rmtree(share, ignore_errors=True)


if __name__ == "__main__":
    main()
