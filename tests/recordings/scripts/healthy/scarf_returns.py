"""Returns of a fashion chain: one CSV per shop and day, many of which have no returns at all; return rates per article group."""

import logging
import shutil
import tempfile
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("returns")

GROUPS = ["scarf", "shawl", "beret", "glove"]
DTYPES = {"shop": "int64", "group": "string", "amount": "float64"}


def write_day(folder, shop, day):
    rng = np.random.default_rng(shop * 40 + day)
    closed = (shop + day) % 3 == 0
    size = 0 if closed else int(rng.integers(40, 120))
    frame = pd.DataFrame(
        {
            "shop": np.full(size, shop),
            "group": rng.choice(GROUPS, size),
            "amount": rng.gamma(2, 15, size).round(2),
        }
    )
    frame.to_csv(folder / f"shop{shop:02d}_day{day:02d}.csv", index=False)
    return size


def clean(part):
    if part.empty:
        return part.assign(large=pd.Series(dtype="bool"))
    return part.assign(large=part["amount"] > 60.0)


def rates(folder, target):
    returns = dd.read_csv(str(folder / "shop*.csv"), dtype=DTYPES)
    meta = returns._meta.assign(large=pd.Series(dtype="bool"))
    returns = returns.map_partitions(clean, meta=meta)
    big = returns[returns["large"]]
    big.repartition(npartitions=4).to_parquet(target, write_index=False)
    table = returns.groupby("group").agg({"amount": ["sum", "count"], "large": "sum"})
    return table.compute()


def main():
    folder = Path(tempfile.mkdtemp(prefix="returns_"))
    try:
        sizes = [write_day(folder, shop, day) for shop in range(12) for day in range(8)]
        log.info("%d files, %d of shops without returns", len(sizes), sizes.count(0))
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster),
        ):
            table = rates(folder, folder / "large_returns")
        counted = int(table[("amount", "count")].sum())
        if counted != sum(sizes):
            raise SystemExit(f"{counted} rows counted, {sum(sizes)} written")
        table.to_csv("return_rates.csv")
        log.info("%d returns in %d groups", counted, len(table))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
