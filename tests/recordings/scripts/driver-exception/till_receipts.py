"""Append the receipts of every shop to the year's Parquet table, shop after shop, then report takings."""

import pathlib
import tempfile
import time

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd

SHOPS = ["Altstadt", "Bahnhof", "Hafen", "Messe", "Nordring"]


def receipts(shop, n=25_000):
    rng = np.random.default_rng(len(shop) * 31)
    frame = pd.DataFrame(
        {
            "shop": shop,
            "receipt": np.arange(n),
            "till": rng.integers(1, 9, n),
            "cents": rng.integers(150, 9900, n),
        }
    )
    if shop == "Messe":
        # fair tills were offline for an hour, their number is unknown
        frame.loc[rng.choice(n, 40, replace=False), "till"] = np.nan
    return frame


class ReceiptTable:
    def __init__(self, folder):
        self.path = str(pathlib.Path(folder) / "receipts")
        self.started = False

    def append(self, frame):
        table = dd.from_pandas(frame, npartitions=3)
        table.to_parquet(
            self.path, append=self.started, ignore_divisions=True, write_index=False
        )
        self.started = True

    def takings(self):
        return dd.read_parquet(self.path).groupby("shop").cents.sum().compute() / 100


def main():
    dask.config.set(scheduler="threads", num_workers=2)
    with tempfile.TemporaryDirectory() as folder:
        table = ReceiptTable(folder)
        for shop in SHOPS:
            began = time.time()
            table.append(receipts(shop))
            time.sleep(0.8)  # the share is slow to show new files
            print(f"{shop}: appended in {time.time() - began:.1f} s", flush=True)
        print(table.takings().to_string())


if __name__ == "__main__":
    main()
