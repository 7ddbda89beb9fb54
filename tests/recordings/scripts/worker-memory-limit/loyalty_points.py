"""Loyalty points of the supermarket cards, per town.

Joins the till receipts of a week to the members' file by card number and sums
the points.  Receipts come as Parquet from the tills, members from the CRM.
"""

import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

DAYS = 6
TOWNS = np.array(["Ulm", "Linz", "Graz", "Bern", "Metz"])


def write_members(folder):
    rng = np.random.default_rng(1)
    n = 20_000
    members = pd.DataFrame(
        {
            "card_no": np.arange(1, n + 1),
            "town": rng.integers(0, len(TOWNS), n),
            "level": rng.integers(1, 4, n),
        }
    )
    # members who have signed up but whose card is not printed yet
    members.loc[members.index % 4 == 0, "card_no"] = 0
    members.to_parquet(folder / "members.parquet")


def write_receipts(folder):
    for day in range(DAYS):
        rng = np.random.default_rng(100 + day)
        n = 15_000
        cards = rng.integers(1, 20_000, n)
        if day == 3:
            # till computers were offline, card readers too
            cards[:6_000] = 0
        pd.DataFrame(
            {
                "card_no": cards,
                "cents": rng.integers(50, 20_000, n),
                "till": rng.integers(1, 30, n),
            }
        ).to_parquet(folder / f"receipts-{day}.parquet")


def town_points(folder):
    receipts = dd.read_parquet(
        sorted(str(p) for p in folder.glob("receipts-*.parquet"))
    )
    members = dd.read_parquet(str(folder / "members.parquet"))
    joined = receipts.merge(members, on="card_no", how="inner")
    joined["points"] = joined["cents"] * joined["level"] // 100
    return joined.groupby("town")["points"].sum()


def check_input(folder):
    """Yesterday's checks of the input: files there, no empty ones."""
    for day in range(DAYS + 1):
        path = folder / f"receipts-{day}.parquet"
        try:
            if path.stat().st_size < 1000:
                raise ValueError(f"{path.name} is empty")
        except FileNotFoundError:
            print(f"{path.name} not there, shop closed on that day")


def main():
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        write_members(folder)
        write_receipts(folder)
        check_input(folder)
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="400MB",
                dashboard_address=":0",
            ) as cluster,
            Client(cluster),
        ):
            try:
                points = town_points(folder).compute()
            finally:
                print("join finished or given up", flush=True)
        for town, total in points.items():
            print(TOWNS[town], total)
    return 0


if __name__ == "__main__":
    sys.exit(main())
