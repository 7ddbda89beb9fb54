"""Season figures of the cottage agency: bookings, then occupancy, then next year's prices.

The three departments' steps differ in what they need, so each one gets a cluster of its own size.
"""

import argparse
import json
import tempfile
from pathlib import Path

import dask.array as da
import dask.bag as db
import numpy as np
import pandas as pd
import dask.dataframe as dd
from distributed import Client, LocalCluster


def invent_bookings(folder, cottages, seed):
    rng = np.random.default_rng(seed)
    for month in range(5, 10):
        frame = pd.DataFrame(
            {
                "cottage": rng.integers(0, cottages, 3000),
                "nights": rng.integers(1, 15, 3000),
                "guests": rng.integers(1, 7, 3000),
                "paid": rng.gamma(5, 60, 3000).round(2),
            }
        )
        frame.to_parquet(Path(folder) / f"month-{month}.parquet")


def bookings_step(folder):
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster),
    ):
        frame = dd.read_parquet(str(Path(folder) / "month-*.parquet"))
        per_cottage = (
            frame.groupby("cottage").agg({"nights": "sum", "paid": "sum"}).compute()
        )
    return per_cottage.sort_index()


def occupancy_step(per_cottage):
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=2,
            memory_limit="400MB",
            processes=False,
            dashboard_address=None,
        ) as cluster,
        Client(cluster),
    ):
        nights = da.from_array(per_cottage.nights.to_numpy(), chunks=25)
        share = (nights / (153 * 10)).clip(0, 1)
        mean, best = da.compute(share.mean(), share.max())
    return float(mean), float(best)


def next_price(row):
    factor = 1.08 if row["nights"] > 1100 else 0.97
    return {
        "cottage": row["cottage"],
        "price": round(row["paid"] / row["nights"] * factor, 2),
    }


def prices_step(per_cottage, folder):
    rows = per_cottage.reset_index().to_dict("records")
    with LocalCluster(
        n_workers=3, threads_per_worker=1, memory_limit="300MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            prices = db.from_sequence(rows, npartitions=6).map(next_price).compute()
            mean = client.submit(np.mean, [p["price"] for p in prices]).result()
    (Path(folder) / "prices.json").write_text(json.dumps(prices))
    return prices, float(mean)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cottages", type=int, default=100)
    parser.add_argument("--seed", type=int, default=2)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        invent_bookings(folder, args.cottages, args.seed)
        per_cottage = bookings_step(folder)
        print(f"{len(per_cottage)} cottages, {per_cottage.nights.sum()} nights")
        mean, best = occupancy_step(per_cottage)
        print(f"occupancy {mean:.0%}, best {best:.0%}")
        prices, average = prices_step(per_cottage, folder)
        print(f"{len(prices)} prices, {average:.2f} on average")


if __name__ == "__main__":
    main()
