"""Values a spice trader's stock in the house currency, one partition per warehouse.

Since November the exchange rates are looked up where they are needed, once per warehouse and currency.
"""

import logging
import sys
import tempfile
from pathlib import Path

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster, get_client, wait

log = logging.getLogger("valuation")

WAREHOUSES = ["antwerp", "busan", "colombo", "durban", "genoa", "hull"]
RATES = {"USD": 0.92, "LKR": 0.0031, "INR": 0.011, "EUR": 1.0}


def stock_file(folder, warehouse):
    rng = np.random.default_rng(len(warehouse) * 13)
    size = 2500
    frame = pd.DataFrame(
        {
            "warehouse": warehouse,
            "spice": rng.choice(["pepper", "clove", "mace", "cassia"], size),
            "currency": rng.choice(sorted(RATES), size),
            "value": rng.gamma(3.0, 900.0, size).round(2),
        }
    )
    path = Path(folder) / f"{warehouse}.parquet"
    frame.to_parquet(path, index=False)
    return str(path)


def rate_of_day(currency, day):
    """The central bank's fixing (a table here)."""
    return RATES[currency] * (1.0 + 0.001 * (day % 7))


def convert(part, day):
    """Adds the value in house currency; rates are shared by all warehouses, so they are tasks of their own."""
    client = get_client()
    currencies = sorted(part["currency"].unique())
    lookups = {
        c: client.submit(rate_of_day, c, day, key=f"rate-of-day-{c}-{day}")
        for c in currencies
    }
    rates = {c: future.result() for c, future in lookups.items()}
    return part.assign(
        house_value=part["value"] * part["currency"].map(rates).astype("f8")
    )


def valuation(paths, day):
    stock = dd.read_parquet(paths)
    meta = stock._meta.assign(house_value=np.float64(0))
    converted = stock.map_partitions(convert, day, meta=meta)
    return converted.groupby(["warehouse", "spice"])["house_value"].sum()


def run(day, limit):
    with tempfile.TemporaryDirectory(prefix="stock_") as folder:
        with LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster:
            with Client(cluster) as client:
                paths = [stock_file(folder, warehouse) for warehouse in WAREHOUSES]
                pieces = client.compute(valuation(paths, day))
                log.info("valuation of day %d started", day)
                wait(pieces, timeout=limit)
                table = pieces.result()
    return table


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    day = int(sys.argv[1]) if len(sys.argv) > 1 else 331
    with dask.config.set({"dataframe.convert-string": False}):
        table = run(day, limit=20)
    table.to_csv("valuation.csv")
    log.info("stock is worth %.0f", table.sum())


if __name__ == "__main__":
    main()
