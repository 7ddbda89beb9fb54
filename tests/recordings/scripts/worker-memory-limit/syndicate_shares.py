"""Syndicate shares: which members of a racing syndicate get what of the day's winnings. Joins the winning tickets
with the table of memberships, sums per member, and puts the file where the pay-out picks it up."""

import logging
import os
import tempfile

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

dask.config.set(
    {
        "distributed.scheduler.allowed-failures": 1,
        "distributed.comm.timeouts.connect": "20s",
    }
)
log = logging.getLogger("shares")
SYNDICATES = 4000


def tickets(shop, rows):
    rng = np.random.default_rng(shop)
    names = np.array([f"S{number:05d}" for number in range(SYNDICATES)], dtype=object)
    syndicate = rng.choice(names, rows)
    if shop == 6:
        # the new terminals leave the field empty for walk-in customers
        syndicate[rng.random(rows) < 0.6] = ""
    return pd.DataFrame(
        {
            "syndicate": pd.Series(syndicate, dtype="str"),
            "won": rng.gamma(1.5, 12.0, rows),
        }
    )


def memberships(rows=30_000):
    rng = np.random.default_rng(99)
    names = np.array([f"S{number:05d}" for number in range(SYNDICATES)], dtype=object)
    syndicate = rng.choice(names, rows)
    syndicate[rng.random(rows) < 0.15] = ""  # members who left theirs
    return pd.DataFrame(
        {
            "syndicate": pd.Series(syndicate, dtype="str"),
            "member": rng.integers(1, 25_000, rows),
            "part": rng.random(rows),
        }
    )


def count_tickets(shops, rows):
    """A quick look on a small cluster of threads: is there anything to share at all?"""
    with LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            parts = client.map(lambda shop: len(tickets(shop, rows)), range(shops))
            return sum(client.gather(parts))


def join_members(won, members):
    joined = won.merge(members, on="syndicate", how="inner")
    joined["share"] = joined["won"] * joined["part"]
    return joined.groupby("member", as_index=False)["share"].sum()


def compute_shares(shops, rows):
    won = dd.from_map(tickets, range(shops), rows=rows)
    members = memberships()
    shares = won.map_partitions(
        join_members, members, meta={"member": "int64", "share": "float64"}
    )
    return shares.groupby("member")["share"].sum().compute()


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    shops, rows = 8, 12_000
    log.info("%d tickets", count_tickets(shops, rows))

    work = tempfile.mkdtemp(prefix="shares-")
    part = os.path.join(work, "payout.csv.part")
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=None
    )
    client = Client(cluster)
    try:
        shares = compute_shares(shops, rows)
        shares.to_csv(part)
        log.info("%d members", len(shares))
    finally:
        client.close()
        cluster.close()
        os.replace(part, "payout.csv")
        os.rmdir(work)


if __name__ == "__main__":
    main()
