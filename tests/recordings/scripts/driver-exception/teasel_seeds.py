"""Seed merchant: joins the night's orders with the catalogue and sums by supplier.

    python job.py --config job.yaml

The catalogue is an export of the shop system, the orders come from the till
system; both are parquet folders.
"""

import argparse
import contextlib
import logging
import pathlib
import shutil

import dask.dataframe as dd
import numpy as np
import pandas as pd
import yaml
from dask.distributed import Client, LocalCluster

log = logging.getLogger("seeds")

CONFIG = """
catalogue: data/catalogue
orders: data/orders
scratch: scratch
workers: 2
minimum_grams: 5
"""


def make_data(config):
    rng = np.random.default_rng(11)
    catalogue = pathlib.Path(config["catalogue"])
    orders = pathlib.Path(config["orders"])
    catalogue.mkdir(parents=True, exist_ok=True)
    orders.mkdir(parents=True, exist_ok=True)
    # the export of the shop system pads numbers since release 8.2
    numbers = [f"{n:07d}" for n in range(2000)]
    pd.DataFrame(
        {
            "article_no": numbers,
            "supplier": [f"S{n % 17}" for n in range(2000)],
            "grams": rng.integers(1, 50, 2000),
        }
    ).to_parquet(catalogue / "part0.parquet")
    for part in range(6):
        pd.DataFrame(
            {
                "article_no": rng.integers(0, 2000, 5000),
                "packets": rng.integers(1, 9, 5000),
                "till": part,
            }
        ).to_parquet(orders / f"part{part}.parquet")


@contextlib.contextmanager
def scratch_folder(path):
    pathlib.Path(path).mkdir(exist_ok=True)
    try:
        yield pathlib.Path(path)
    finally:
        shutil.rmtree(path)
        log.info("scratch folder removed")


def read_orders(config):
    orders = dd.read_parquet(config["orders"])
    per_till = orders.groupby("till")["packets"].sum().compute()
    if (per_till == 0).any():
        raise ValueError(f"tills without orders: {list(per_till[per_till == 0].index)}")
    log.info("orders of %d tills, %d packets", len(per_till), per_till.sum())
    return orders


def read_catalogue(config):
    catalogue = dd.read_parquet(config["catalogue"])
    log.info("catalogue of %d articles", len(catalogue))
    return catalogue[catalogue["grams"] >= config["minimum_grams"]]


def supplier_sums(orders, catalogue):
    joined = orders.merge(catalogue, on="article_no", how="inner")
    joined = joined.assign(weight=joined["packets"] * joined["grams"])
    return joined.groupby("supplier")["weight"].sum()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="job.yaml")
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(levelname)s %(name)s: %(message)s"
    )
    pathlib.Path(args.config).write_text(CONFIG)
    config = yaml.safe_load(pathlib.Path(args.config).read_text())
    make_data(config)

    cluster = LocalCluster(
        n_workers=config["workers"], threads_per_worker=1, dashboard_address=None
    )
    with cluster, Client(cluster), scratch_folder(config["scratch"]) as scratch:
        orders = read_orders(config)
        catalogue = read_catalogue(config)
        sums = supplier_sums(orders, catalogue)
        sums.to_frame().to_parquet(str(scratch / "sums"))
        shutil.copytree(scratch / "sums", "sums", dirs_exist_ok=True)


if __name__ == "__main__":
    main()
