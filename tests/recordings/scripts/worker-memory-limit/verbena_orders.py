"""Perfume mail order: attaches the campaigns of the week to the orders.

Orders and campaign letters are matched by post code; what comes out is the
turnover of each campaign.
"""

import logging
import pathlib

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

dask.config.set(
    {"dataframe.shuffle.method": "tasks", "distributed.scheduler.allowed-failures": 1}
)

log = logging.getLogger("campaigns")


def post_codes(rng, count, missing):
    codes = rng.integers(10000, 99999, count).astype(str).astype(object)
    codes[rng.random(count) < missing] = ""
    return codes


def write_tables(root):
    rng = np.random.default_rng(2026)
    root.mkdir(exist_ok=True)
    for part in range(4):
        count = 12000
        orders = pd.DataFrame(
            {
                "order": np.arange(count) + part * count,
                "post_code": post_codes(rng, count, 0.02 if part < 3 else 0.6),
                "turnover": rng.uniform(8, 200, count),
            }
        )
        orders.to_parquet(root / f"orders.{part}.parquet")
    letters = pd.DataFrame(
        {
            "letter": np.arange(16000),
            "post_code": post_codes(rng, 16000, 0.4),
            "campaign": rng.choice(["autumn", "advent", "loyal", "new"], 16000),
        }
    )
    letters.to_parquet(root / "letters.parquet")


def clean(part):
    part = part.copy()
    part["post_code"] = part["post_code"].fillna("").str.strip().str.zfill(5)
    return part


def attach_letters(orders, letters):
    both = orders.merge(letters, on="post_code", how="inner")
    both["share"] = both["turnover"] / both.groupby("order")["letter"].transform(
        "count"
    )
    return both[["order", "campaign", "share"]]


def campaign_turnover(root):
    orders = dd.read_parquet([str(p) for p in sorted(root.glob("orders.*.parquet"))])
    letters = pd.read_parquet(root / "letters.parquet")
    orders = orders.map_partitions(clean)
    meta = pd.DataFrame(
        {
            "order": pd.Series(dtype="int64"),
            "campaign": pd.Series(dtype="str"),
            "share": 0.0,
        },
        index=[],
    )
    pairs = orders.map_partitions(attach_letters, clean(letters), meta=meta)
    return pairs.groupby("campaign")["share"].sum()


def main():
    logging.basicConfig(level=logging.INFO)
    root = pathlib.Path("mail_order")
    write_tables(root)
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="420MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            count = len(dd.read_parquet(str(root / "orders.*.parquet")))
            log.info(
                "%d orders of this week on %d workers", count, len(client.ncores())
            )
            result = campaign_turnover(root).compute()
            result.to_csv("campaigns.csv")
            log.info("turnover of %d campaigns", len(result))


if __name__ == "__main__":
    main()
