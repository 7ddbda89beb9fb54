"""Hourly sweep of redeemed meal vouchers: check amounts, sum per restaurant, tell the channel if anything is off."""

import argparse
import time
from decimal import Decimal

import dask.bag as db
import numpy as np
import requests
from dask.distributed import Client


def redeemed_lines(hour):
    rng = np.random.default_rng(hour)
    lines = []
    for i in range(400):
        amount = f"{rng.integers(4, 19)}.{rng.integers(0, 100):02d}"
        if hour == 17 and i == 233:
            amount = "12,40 EUR"  # the new terminals in the mall
        lines.append(f"R{rng.integers(100, 130)};{amount};{hour:02d}:{i % 60:02d}")
    return lines


def parse_voucher(line):
    restaurant, amount, _ = line.split(";")
    return restaurant, Decimal(amount)


def slow_source(hour):
    time.sleep(0.15)
    return redeemed_lines(hour)


def add(total, item):
    return total + item[1]


def combine(a, b):
    return a + b


def alert(hook, text):
    answer = requests.post(hook, json={"channel": "#vouchers", "text": text}, timeout=5)
    answer.raise_for_status()


def sweep(hours):
    vouchers = (
        db.from_sequence(hours, partition_size=2)
        .map(slow_source)
        .flatten()
        .map(parse_voucher)
    )
    totals = vouchers.foldby(lambda v: v[0], add, Decimal(0), combine, Decimal(0))
    return dict(totals.compute())


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--hook", default="http://127.0.0.1:9/services/hooks/vouchers")
    ap.add_argument("--from-hour", type=int, default=0)
    ap.add_argument("--to-hour", type=int, default=24)
    args = ap.parse_args()
    client = Client(
        processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None
    )
    try:
        time.sleep(2)  # the settlement service publishes at two seconds past
        totals = sweep(list(range(args.from_hour, args.to_hour)))
        print("restaurants:", len(totals), "sum:", sum(totals.values()))
    except Exception as exc:
        alert(args.hook, f"voucher sweep failed: {exc!r}")
        raise
    finally:
        client.close()


if __name__ == "__main__":
    main()
