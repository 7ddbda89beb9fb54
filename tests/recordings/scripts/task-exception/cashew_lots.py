"""Loads the auction houses' cashew lots into the trader's warehouse, a file per house and week."""

import os
import shutil
import tempfile

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask import delayed
from distributed import Client, LocalCluster

HOUSES = ["cochin", "abidjan", "mtwara", "bissau"]
WEEKS = range(40, 43)

META = pd.DataFrame(
    {
        "lot": pd.Series(dtype="int64"),
        "house": pd.Series(dtype="object"),
        "bags": pd.Series(dtype="int64"),
        "outturn": pd.Series(dtype="float64"),
        "usd": pd.Series(dtype="float64"),
    }
)


def auction_frame(house, week):
    rng = np.random.default_rng(week * 10 + len(house))
    n = 150
    frame = pd.DataFrame(
        {
            "lot": np.arange(n) + week * 1000,
            "house": pd.Series([house] * n, dtype="object"),
            "bags": rng.integers(20, 400, n),
            "outturn": rng.normal(47, 2, n).round(1),
            "usd": rng.normal(1350, 90, n).round(2),
        }
    )
    if house == "mtwara" and week == 42:
        # their new office reports moisture as well and calls the outturn by its local name
        frame = frame.rename(columns={"outturn": "kor"})
        frame["moisture"] = rng.normal(8, 0.5, n).round(1)
    return frame


class Warehouse:
    def __init__(self, inbox):
        self.inbox = inbox

    def path(self, house, week):
        return os.path.join(self.inbox, f"{house}-{week}.pkl")

    def receive(self):
        for house in HOUSES:
            for week in WEEKS:
                auction_frame(house, week).to_pickle(self.path(house, week))

    def lots(self):
        parts = [delayed(read_auction)(self.path(h, w)) for h in HOUSES for w in WEEKS]
        return dd.from_delayed(parts, meta=META, verify_meta=True)


def read_auction(path):
    frame = pd.read_pickle(path)
    return frame[frame.bags > 25].reset_index(drop=True)


def price_per_house(lots):
    lots = lots.assign(worth=lots.usd * lots.bags * 0.08)
    return lots.groupby("house").agg({"worth": "sum", "bags": "sum", "outturn": "mean"})


def main():
    inbox = tempfile.mkdtemp(prefix="auctions-")
    warehouse = Warehouse(inbox)
    try:
        warehouse.receive()
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="400MB",
                dashboard_address=None,
            ) as cluster,
            Client(cluster) as client,
        ):
            lots = warehouse.lots()
            early = lots.partitions[:2].bags.sum().compute()
            print("bags in the first two files:", early)
            report = price_per_house(lots).compute()
            print(report.round(2).to_string())
    finally:
        shutil.rmtree(inbox)


if __name__ == "__main__":
    main()
