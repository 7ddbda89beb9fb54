"""Close-out of the equity desk's books at the end of the trading day.

The worker processes load the desk's holiday calendar and the fee table once when they come up, so that the
pricing functions find them in memory.  Positions are then valued account by account and summed per book.
"""

import argparse
import csv
import datetime as dt
import logging
import os
import sys
import tempfile
from pathlib import Path

import dask
from distributed import Client, LocalCluster

log = logging.getLogger("closeouts")

DESK_MODULE = '''\
"""Reference data of the desk; the worker processes import this when they start."""
import csv
import datetime as dt
from pathlib import Path

HERE = Path(__file__).parent


def read_fees(path):
    with open(path, newline="") as f:
        return {row["venue"]: float(row["fee_bps"]) for row in csv.DictReader(f)}


def read_holidays(path):
    with open(path, newline="") as f:
        return [dt.date.fromisoformat(row["settle_date"]) for row in csv.DictReader(f)]


FEES = read_fees(HERE / "fees.csv")
HOLIDAYS = read_holidays(HERE / "holidays.csv")
'''


def parse_args():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--accounts", type=int, default=24)
    p.add_argument("--workers", type=int, default=2)
    return p.parse_args()


def refresh_reference(folder: Path):
    """What the vendor's download leaves in the share each afternoon."""
    with open(folder / "fees.csv", "w", newline="") as f:
        w = csv.writer(f)
        w.writerow(["venue", "fee_bps"])
        w.writerows([["XETR", "0.9"], ["XPAR", "1.1"], ["XAMS", "1.0"]])
    with open(folder / "holidays.csv", "w", newline="") as f:
        w = csv.writer(f)
        w.writerow(["market", "settle_date"])
        w.writerow(["XETR", "2026-12-25"])
        w.writerow(["XPAR", "2026-12-25"])
        w.writerow(["XAMS", "25/12/2026"])
    (folder / "desk_reference.py").write_text(DESK_MODULE)


def fx_rate(day):
    """Rates come from a service that is closed at the weekend; fall back to the fixed table."""
    try:
        return {"USD": float(os.environ["DESK_USD_RATE"])}
    except KeyError:
        log.info("no live rate for %s, using the fixing", day)
        return {"USD": 1.08}


def value_account(number, rate):
    import desk_reference as ref

    venue = ("XETR", "XPAR", "XAMS")[number % 3]
    gross = sum((number * 31 + k * 17) % 97 for k in range(500)) * rate["USD"]
    return venue, gross * (1 - ref.FEES[venue] / 10_000)


def total(parts):
    books = {}
    for venue, amount in parts:
        books[venue] = books.get(venue, 0.0) + amount
    return books


def main():
    args = parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    with tempfile.TemporaryDirectory(prefix="desk-") as tmp:
        share = Path(tmp)
        refresh_reference(share)
        rate = fx_rate(dt.date.today())
        dask.config.set(
            {"distributed.worker.preload": [str(share / "desk_reference.py")]}
        )
        cluster = client = None
        try:
            cluster = LocalCluster(
                n_workers=args.workers,
                threads_per_worker=1,
                memory_limit="300MB",
                dashboard_address=None,
            )
            client = Client(cluster)
            parts = [dask.delayed(value_account)(n, rate) for n in range(args.accounts)]
            books = client.compute(dask.delayed(total)(parts)).result(timeout=40)
            for venue, amount in sorted(books.items()):
                log.info("%s %.2f", venue, amount)
        finally:
            if client is not None:
                client.close()
            if cluster is not None:
                cluster.close()
            log.info("close-out left the share %s", share)


if __name__ == "__main__":
    sys.exit(main())
