#!/usr/bin/env python
"""Court fees of the district: join the fee notes of the courts with the case register.

Output: open fees per chamber, for the treasury's morning list.
"""

import argparse
import logging
import time

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

log = logging.getLogger("court_fees")

COURTS = [f"court-{n:02d}" for n in range(16)]
CHAMBERS = ["civil", "family", "labour", "traffic"]


def read_fees(court):
    """Fee notes of one court, as its registry exports them."""
    number = int(court[-2:])
    rng = np.random.default_rng(number)
    n = 3000
    time.sleep(0.3)
    fees = pd.DataFrame(
        {
            "case_id": rng.integers(0, 20000, n),
            "note": np.arange(n) + number * n,
            "amount": rng.integers(20, 900, n),
        }
    )
    if number == 11:
        # the registry of this court moved to the new software in November
        amount = fees["amount"].astype(object)
        amount[rng.integers(0, n, 25)] = "waived"
        fees["amount"] = amount
    return fees


def read_register(part):
    """Part of the case register of the district."""
    rng = np.random.default_rng(1000 + part)
    ids = np.arange(part * 2500, (part + 1) * 2500)
    return pd.DataFrame({"case_id": ids, "chamber": rng.choice(CHAMBERS, ids.size)})


def load():
    fees_meta = pd.DataFrame(
        {
            "case_id": pd.Series(dtype="int64"),
            "note": pd.Series(dtype="int64"),
            "amount": pd.Series(dtype="int64"),
        }
    )
    register_meta = read_register(0).iloc[:0]
    fees = dd.from_map(read_fees, COURTS, meta=fees_meta, enforce_metadata=False)
    register = dd.from_map(read_register, range(8), meta=register_meta)
    return fees, register


def count_notes(fees):
    """Sanity check: a court that delivers nothing is on strike or off line."""
    sizes = fees.map_partitions(len).compute()
    log.info("%d fee notes of %d courts", sum(sizes), len(sizes))
    if min(sizes) == 0:
        raise SystemExit("a court delivered no fee notes")


def open_fees(fees, register):
    joined = fees.merge(register, on="case_id", how="inner", shuffle_method="p2p")
    return joined.groupby("chamber")["amount"].sum()


def parse_args():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--workers", type=int, default=2)
    return p.parse_args()


def main():
    args = parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    with (
        dask.config.set({"dataframe.shuffle.method": "p2p"}),
        LocalCluster(
            n_workers=args.workers,
            threads_per_worker=1,
            memory_limit="300MB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(args.workers, timeout=60)
        fees, register = load()
        count_notes(fees)
        log.info("joining with the register (%d parts)", register.npartitions)
        totals = open_fees(fees, register).compute()
        for chamber, amount in totals.items():
            log.info("%-8s %12d", chamber, amount)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
