"""Match unsold magazines that came back with what was delivered, region by region, and credit the kiosks."""

import logging
import sys

import dask
import numpy as np
import pandas as pd
from distributed import Client, KilledWorker, LocalCluster

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)-7s %(message)s"
)
log = logging.getLogger("returns")

dask.config.set({"distributed.scheduler.allowed-failures": 1})

REGIONS = {
    # region: (deliveries, returns, share of lines whose barcode the scanner could not read)
    "coast": (9_000, 2_600, 0.001),
    "hills": (7_500, 2_100, 0.002),
    "metro": (30_000, 14_000, 0.0005),
    "airport": (4_000, 900, 0.0),
    "border": (16_000, 9_500, 0.62),
}


def read_lines(region, what):
    """Lines of the region's file; an unread barcode is an empty string."""
    deliveries, returns, unread = REGIONS[region]
    n = deliveries if what == "deliveries" else returns
    rng = np.random.default_rng([len(region), n])
    barcode = pd.Series([f"977{i:09d}" for i in rng.permutation(60_000)[:n]])
    barcode[rng.random(n) < unread] = ""
    return pd.DataFrame(
        {
            "barcode": barcode,
            "kiosk": rng.integers(0, 400, n),
            "copies": rng.integers(1, 30, n),
            "price": rng.choice([1.9, 2.5, 3.2, 4.9], n),
        }
    )


def match_returns(region):
    delivered = read_lines(region, "deliveries")
    returned = read_lines(region, "returns")
    both = delivered.merge(returned, on="barcode", suffixes=("_out", "_back"))
    both = both[both.copies_back <= both.copies_out]
    credit = both.copies_back * both.price_out * 0.75
    return credit.groupby(both.kiosk_back).sum()


def credit_note(credits, region):
    if credits.empty:
        return region, 0, 0.0
    return region, len(credits), round(float(credits.sum()), 2)


def run(client):
    notes, missing = [], []
    futures = {}
    for region in REGIONS:
        credits = client.submit(match_returns, region, key=f"match_returns-{region}")
        futures[region] = client.submit(
            credit_note, credits, region, key=f"credit_note-{region}"
        )
    for region, future in futures.items():
        try:
            notes.append(future.result(timeout=50))
        except KilledWorker:
            log.warning("%s gave nothing, going on with the other regions", region)
            missing.append(region)
    return notes, missing


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="350MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            notes, missing = run(client)
    for region, kiosks, amount in notes:
        log.info("%-8s %4d kiosks %12.2f", region, kiosks, amount)
    if missing:
        raise RuntimeError(
            f"the credit run is incomplete: {len(missing)} of {len(REGIONS)} regions without a note"
        )


if __name__ == "__main__":
    sys.exit(main())
