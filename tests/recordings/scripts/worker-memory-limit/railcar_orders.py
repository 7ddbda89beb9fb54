"""Empty railcars against open orders.

The yards report their railcars, the customers their orders; both carry the code of a station. Cars are matched with
the orders of their station and the cheapest pairs go to the dispatcher.
"""

import os
import sys
import tempfile

os.environ.setdefault("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")

import dask  # noqa: E402
import dask.dataframe as dd  # noqa: E402
import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from dask.distributed import Client, LocalCluster  # noqa: E402

STATIONS = [f"ST{i:04d}" for i in range(900)]


def yard_report(seed, rows, unknown):
    """Cars of one day; yards that cannot read the tag report the station as 0000."""
    rng = np.random.default_rng(seed)
    code = rng.choice(STATIONS, rows).astype(object)
    code[rng.random(rows) < unknown] = "ST0000"
    return pd.DataFrame(
        {
            "station": code,
            "car": rng.integers(10**7, 10**8, rows),
            "tonnes": rng.uniform(40, 90, rows).round(1),
            "ready": rng.integers(0, 72, rows),
        }
    )


def order_book(seed, rows, unknown):
    rng = np.random.default_rng(1000 + seed)
    code = rng.choice(STATIONS, rows).astype(object)
    code[rng.random(rows) < unknown] = "ST0000"
    return pd.DataFrame(
        {
            "station": code,
            "order": rng.integers(10**5, 10**6, rows),
            "wanted": rng.uniform(20, 95, rows).round(1),
            "due": rng.integers(0, 96, rows),
        }
    )


def write_inputs(folder, days):
    for d in range(days):
        yard_report(d, 5000, 0.12).to_parquet(os.path.join(folder, f"cars-{d}.parquet"))
        order_book(d, 4000, 0.15).to_parquet(
            os.path.join(folder, f"orders-{d}.parquet")
        )


def price(pairs):
    """Cost of a pair: idle hours, tonnes too few, tonnes too many."""
    idle = (pairs["due"] - pairs["ready"]).clip(lower=0)
    short = (pairs["wanted"] - pairs["tonnes"]).clip(lower=0)
    spare = (pairs["tonnes"] - pairs["wanted"]).clip(lower=0)
    return pairs.assign(cost=idle * 3.0 + short * 40.0 + spare * 1.5)


def best_pairs(folder):
    cars = dd.read_parquet(os.path.join(folder, "cars-*.parquet"))
    orders = dd.read_parquet(os.path.join(folder, "orders-*.parquet"))
    cars = cars[cars["tonnes"] > 42]
    pairs = cars.merge(orders, on="station", how="inner", shuffle_method="tasks")
    pairs = pairs.map_partitions(price)
    return pairs.groupby("order")["cost"].min()


def main():
    days = int(os.environ.get("DAYS_OPEN", "6"))
    with tempfile.TemporaryDirectory() as folder:
        write_inputs(folder, days)
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster):
                with dask.config.set({"dataframe.convert-string": True}):
                    cars = dd.read_parquet(os.path.join(folder, "cars-*.parquet"))
                    print("cars reported:", len(cars), flush=True)
                    best = best_pairs(folder).compute()
        print(f"{len(best)} orders served, mean cost {best.mean():.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
