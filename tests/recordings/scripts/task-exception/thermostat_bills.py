"""Monthly heating bills from the readings of radiator thermostats."""

import argparse
import logging
import sys

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

log = logging.getLogger("bills")

BUILDINGS = ["ash", "beech", "cedar", "dogwood", "elder", "fir"]
PRICE = 0.118


def read_building(building):
    """Readings of a month as the gateway of the building exports them."""
    rng = np.random.default_rng(sum(map(ord, building)))
    flats = np.repeat(np.arange(1, 31), 30)
    frame = pd.DataFrame(
        {
            "building": building,
            "flat": flats,
            "day": np.tile(np.arange(1, 31), 30),
            "wh": rng.gamma(4.0, 2200.0, flats.size).round(),
            "valve": rng.uniform(0, 100, flats.size).round(1),
        }
    )
    if building == "dogwood":
        # the gateway was without power for two days
        frame.loc[frame["day"].between(11, 12), ["wh", "valve"]] = np.nan
    return frame


def tidy(frame):
    """Whole watt-hours, no gaps, no negative readings."""
    frame = frame.copy()
    frame["wh"].fillna(0, inplace=True)
    frame["valve"].fillna(0, inplace=True)
    frame["wh"] = frame["wh"].clip(lower=0).astype("int64")
    frame["cold"] = frame["valve"] < 5
    return frame


def tariff(frame, price):
    frame = frame.assign(cost=frame["wh"] / 1000 * price)
    frame.loc[frame["cold"], "cost"] *= 0.9
    return frame


def meta_of(function, sample, *args):
    return function(sample.head(5), *args).iloc[:0]


def build_frame():
    sample = read_building("ash")
    readings = dd.from_map(read_building, BUILDINGS, meta=sample.iloc[:0])
    clean = readings.map_partitions(tidy, meta=meta_of(tidy, sample))
    return clean.map_partitions(
        tariff, PRICE, meta=meta_of(tariff, tidy(sample), PRICE)
    )


def monthly(frame):
    return frame.groupby(["building", "flat"]).agg({"wh": "sum", "cost": "sum"})


def print_bills(bills, limit):
    for (building, flat), row in (
        bills.sort_values("cost", ascending=False).head(limit).iterrows()
    ):
        log.info("%s/%02d: %7.0f Wh %7.2f EUR", building, flat, row["wh"], row["cost"])


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--top", type=int, default=10)
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="350MiB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster),
    ):
        frame = build_frame()
        rows = dd.from_map(read_building, BUILDINGS).map_partitions(len).compute()
        log.info("readings per building: %s", list(rows))
        bills = monthly(frame).compute()
        log.info("%d flats, %.2f EUR in all", len(bills), bills["cost"].sum())
        print_bills(bills, args.top)
    return 0


if __name__ == "__main__":
    sys.exit(main())
