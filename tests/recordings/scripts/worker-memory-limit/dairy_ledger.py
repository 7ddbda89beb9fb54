"""Monthly milk settlement: expand the tanker lots, price them, write the ledger."""

import argparse
import csv
import logging
import os
import sys
import tempfile
import time

import dask
import numpy as np
from dask.distributed import Client, KilledWorker, LocalCluster

log = logging.getLogger("dairy_ledger")

# tanker runs of the month per creamery: (litres, samples per litre)
CREAMERIES = {
    "anholt": (180_000, 4),
    "brokdorf": (240_000, 4),
    "coesfeld": (205_000, 400),
    "dersau": (150_000, 4),
}
BASE_PRICE = 0.463


def expand_lots(name, litres, density):
    """One row per fat/protein sample, as the laboratory wants it."""
    rng = np.random.default_rng(len(name))
    blocks = []
    left = litres * density
    while left > 0:
        n = min(left, 500_000)
        blocks.append(rng.normal(4.1, 0.3, n))
        left -= n
        time.sleep(0.04)
    samples = np.concatenate(blocks)
    return {
        "creamery": name,
        "litres": litres,
        "fat": float(samples.mean()),
        "n": int(samples.size),
    }


def load_prices(month):
    time.sleep(0.3)
    return {"base": BASE_PRICE, "per_fat_point": 0.028, "month": month}


def settle(volume, prices):
    bonus = (volume["fat"] - 4.0) * 10 * prices["per_fat_point"]
    return {
        "creamery": volume["creamery"],
        "litres": volume["litres"],
        "amount": round(volume["litres"] * (prices["base"] + bonus), 2),
    }


def collect_volumes(client):
    volumes = {}
    for name, (litres, density) in CREAMERIES.items():
        future = client.submit(
            expand_lots, name, litres, density, key=f"expand_lots-{name}"
        )
        try:
            volumes[name] = future.result()
            log.info("%s: %s samples", name, volumes[name]["n"])
        except KilledWorker:
            log.warning(
                "%s: no volumes from the cluster, taking the snapshot of last month",
                name,
            )
            volumes[name] = read_snapshot(name)
    return volumes


def read_snapshot(name):
    path = os.path.join(tempfile.gettempdir(), "dairy", f"{name}.csv")
    if not os.path.exists(path):
        return None
    with open(path, newline="") as f:
        return next(csv.DictReader(f))


def write_ledger(rows, path):
    with open(path, "w", newline="") as f:
        w = csv.DictWriter(f, ["creamery", "litres", "amount"])
        w.writeheader()
        w.writerows(rows)
    return sum(r["amount"] for r in rows)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--month", default="2026-10")
    args = ap.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    dask.config.set({"distributed.scheduler.allowed-failures": 1})

    with (
        tempfile.TemporaryDirectory() as tmp,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="260MiB",
            dashboard_address=":0",
            local_directory=tmp,
        ) as cluster,
        Client(cluster) as client,
    ):
        volumes = collect_volumes(client)
        prices = client.submit(load_prices, args.month)
        rows = client.gather(
            [client.submit(settle, v, prices) for v in volumes.values()]
        )
        total = write_ledger(rows, os.path.join(tmp, "ledger.csv"))
        log.info("ledger of %s: %.2f EUR", args.month, total)


if __name__ == "__main__":
    sys.exit(main())
