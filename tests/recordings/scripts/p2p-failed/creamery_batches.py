"""Monthly settlement for the farms that deliver to the creamery.

Tanker tours are read as one partition each; all deliveries of a farm must come
together (shuffle by farm) before its quality bonus can be computed, because
the bonus depends on the running mean of the farm's fat content.
"""

import argparse
import logging
import sys
import tempfile
import time

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

log = logging.getLogger("creamery_batches")

META = pd.DataFrame(
    {
        "farm": pd.Series(dtype="int64"),
        "tour": pd.Series(dtype="int64"),
        "day": pd.Series(dtype="int64"),
        "litres": pd.Series(dtype="float64"),
        "fat_pct": pd.Series(dtype="float64"),
    }
)
BONUS_META = pd.Series(dtype="float64", name="bonus")
BASE_PRICE = 0.41


def lab_values(rng, tour, n):
    """Fat content as the laboratory's export has it."""
    fat = pd.Series(rng.normal(4.1, 0.25, n).round(2))
    if tour == 17:
        fat = fat.astype(object)
        fat.iloc[[11, 12, 40]] = "n/a"
    return fat


def load_tour(tour, n, n_farms, seed):
    rng = np.random.default_rng([seed, tour])
    time.sleep(0.15)
    return pd.DataFrame(
        {
            "farm": rng.integers(0, n_farms, n),
            "tour": np.full(n, tour, dtype="int64"),
            "day": rng.integers(1, 31, n),
            "litres": rng.gamma(6, 120, n).round(0),
            "fat_pct": lab_values(rng, tour, n),
        }
    )


def farm_bonus(part):
    """Cents per litre above the base price, by delivery."""
    part = part.sort_values(["farm", "day"])
    mean = part.groupby("farm")["fat_pct"].transform(
        lambda s: s.rolling(5, min_periods=1).mean()
    )
    bonus = (mean - 4.0).clip(lower=0) * 2.5 * part["litres"] / 100
    return bonus.rename("bonus")


def settle(args):
    tours = dd.from_map(
        load_tour,
        list(range(args.tours)),
        n=args.deliveries,
        n_farms=args.farms,
        seed=args.seed,
        meta=META,
    )
    log.info("%d tours, %d deliveries", tours.npartitions, args.tours * args.deliveries)

    litres = tours["litres"].sum().compute()
    log.info(
        "%.0f litres delivered, base payment %.2f EUR", litres, litres * BASE_PRICE
    )

    per_day = tours.groupby("day")["litres"].sum().compute()
    log.info("strongest day: %d with %.0f litres", per_day.idxmax(), per_day.max())

    by_farm = tours.shuffle("farm", npartitions=args.partitions)
    bonus = by_farm.map_partitions(farm_bonus, meta=BONUS_META)
    total, largest = dask.compute(bonus.sum(), bonus.max())
    log.info("bonus in all %.2f EUR, largest %.2f EUR", total, largest)
    return total


def main(argv=None):
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--tours", type=int, default=24)
    p.add_argument("--deliveries", type=int, default=4000)
    p.add_argument("--farms", type=int, default=600)
    p.add_argument("--partitions", type=int, default=12)
    p.add_argument("--seed", type=int, default=21)
    args = p.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    with tempfile.TemporaryDirectory(prefix="creamery-") as work:
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=":0",
            memory_limit="400MB",
            local_directory=work,
        ) as cluster:
            with Client(cluster), dask.config.set({"dataframe.shuffle.method": "p2p"}):
                settle(args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
