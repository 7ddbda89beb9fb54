"""Nightly totals of the bakery's order book, one CSV per shop."""

import csv
import random
import tempfile
from pathlib import Path

import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client

SHOPS = ["north", "harbour", "mill", "square"]


def write_orders(folder: Path):
    rng = random.Random(11)
    for shop in SHOPS:
        with (folder / f"{shop}.csv").open("w", newline="") as f:
            out = csv.writer(f)
            out.writerow(["order", "loaves", "price"])
            for i in range(500):
                price = f"{rng.uniform(2, 9):.2f}"
                if shop == "mill" and i == 318:
                    price = price.replace(".", ",")
                out.writerow([f"{shop[0]}{i}", rng.randint(1, 12), price])


def revenue(part: pd.DataFrame) -> pd.DataFrame:
    part = part.copy()
    part["revenue"] = part["price"].astype(float) * part["loaves"]
    return part[["order", "revenue"]]


def main():
    with tempfile.TemporaryDirectory() as tmp:
        write_orders(Path(tmp))
        with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0"):
            orders = dd.read_csv(f"{tmp}/*.csv", dtype={"order": str, "price": str})
            meta = {"order": "object", "revenue": "float64"}
            total = orders.map_partitions(revenue, meta=meta).revenue.sum()
            print("takings:", round(float(total.compute()), 2))


if __name__ == "__main__":
    main()
