"""Wool lots of the auctions of a season: read the sales, bring lots of a farm together, prices per farm."""

import argparse
import logging
import sys
import tempfile
from pathlib import Path

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

log = logging.getLogger("wool")

META = pd.DataFrame(
    {
        "lot": pd.Series(dtype="int64"),
        "farm": pd.Series(dtype="int64"),
        "micron": pd.Series(dtype="float64"),
        "bales": pd.Series(dtype="int64"),
        "cents": pd.Series(dtype="float64"),
    }
)


def hold_sales(folder, sales, lots):
    """The catalogues as the brokers send them."""
    for sale in range(sales):
        rng = np.random.default_rng(sale)
        frame = pd.DataFrame(
            {
                "lot": np.arange(lots) + sale * lots,
                "farm": rng.integers(0, 400, lots),
                "micron": rng.normal(19.5, 1.6, lots).round(1),
                "bales": rng.integers(3, 40, lots),
                "cents": rng.normal(1480, 130, lots).round(0),
            }
        )
        if sale == 8:
            frame["cents"] = frame["cents"].astype("int64").astype(str)
            frame.loc[rng.integers(0, lots, 25), "cents"] = (
                "P.I."  # passed in: no bid reached the reserve
            )
        frame.to_csv(folder / f"sale_{sale:02d}.csv", index=False)


def read_sale(path):
    frame = pd.read_csv(path)
    return frame[list(META.columns)]


def grade(frame):
    """Fineness classes of the trade."""
    frame = frame.copy()
    frame["fine"] = np.where(frame["micron"] < 18.6, 1, 0)
    return frame


def farm_prices(frame):
    """All lots of a farm are in the partition; the value of its clip."""
    frame = frame.assign(value=frame["bales"] * frame["cents"])
    grouped = frame.groupby("farm").agg(
        lots=("lot", "size"), value=("value", "sum"), fine=("fine", "mean")
    )
    return grouped.reset_index()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sales", type=int, default=12)
    parser.add_argument("--lots", type=int, default=3000)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )

    dask.config.set({"dataframe.shuffle.method": "p2p"})
    with (
        tempfile.TemporaryDirectory(prefix="wool-") as name,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="350MiB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster),
    ):
        folder = Path(name)
        hold_sales(folder, args.sales, args.lots)
        paths = sorted(map(str, folder.glob("sale_*.csv")))
        frame = dd.from_map(read_sale, paths, meta=META)
        log.info("%d sales, %d lots", frame.npartitions, len(frame))
        frame = frame.map_partitions(
            grade, meta=META.assign(fine=pd.Series(dtype="int64"))
        )
        by_farm = frame.shuffle("farm", npartitions=6)
        prices = by_farm.map_partitions(
            farm_prices,
            meta={
                "farm": "int64",
                "lots": "int64",
                "value": "float64",
                "fine": "float64",
            },
        ).compute()
        best = prices.nlargest(5, "value")
        for row in best.itertuples():
            log.info("farm %d: %d lots worth %.0f", row.farm, row.lots, row.value / 100)
    return 0


if __name__ == "__main__":
    sys.exit(main())
