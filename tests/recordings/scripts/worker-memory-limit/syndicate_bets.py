"""Betting patterns by account, for the integrity desk.

For every account we look at how a stake follows from the stakes before it and
report the accounts whose stakes look copied.  Bets arrive in hourly pieces and
are brought together by account first.
"""

import logging
import os
import sys

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

os.environ.setdefault("PYTHONUNBUFFERED", "1")

CONFIG = {
    "dataframe.shuffle.method": "tasks",
    "distributed.scheduler.allowed-failures": 1,
    "distributed.scheduler.work-stealing": True,
}

HOURS = 12
BETS_AN_HOUR = 90_000
LAGS = 80


def load_hour(hour):
    """Bets of one hour."""
    rng = np.random.default_rng(hour)
    accounts = rng.integers(1, 160, BETS_AN_HOUR)
    if hour >= 4:
        # since four o'clock an aggregator passes its customers' bets on under its own account
        accounts[rng.random(BETS_AN_HOUR) < 0.9] = 77
    return pd.DataFrame(
        {
            "account": accounts,
            "stake": rng.gamma(2.0, 12.0, BETS_AN_HOUR).round(2),
            "odds": rng.uniform(1.1, 9.0, BETS_AN_HOUR).round(2),
        }
    )


def copied_stakes(bets):
    """How well the stakes of an account follow from those before."""
    stake = bets["stake"].reset_index(drop=True)
    lagged = {f"lag{n}": stake.shift(n) for n in range(1, LAGS + 1)}
    same = pd.DataFrame(
        {name: (stake - column).abs() for name, column in lagged.items()}
    )
    closest = same.min(axis=1)
    return pd.Series(
        {"bets": float(len(stake)), "copied": float((closest < 0.005).mean())}
    )


def suspicious(share):
    """Accounts whose share of copied stakes is above ``share``."""
    bets = dd.from_map(load_hour, range(HOURS), meta=load_hour(0).head(0))
    meta = pd.DataFrame(
        {"bets": [0.0], "copied": [0.0]}, index=pd.Index([1], name="account")
    )[:0]
    patterns = bets.groupby("account")[["stake"]].apply(copied_stakes, meta=meta)
    return patterns[patterns.copied > share]


class Desk:
    """Cluster and settings of the integrity desk."""

    def __init__(self, workers=2):
        self.workers = workers

    def __enter__(self):
        self.config = dask.config.set(CONFIG)
        self.config.__enter__()
        self.cluster = LocalCluster(
            n_workers=self.workers,
            threads_per_worker=1,
            memory_limit="420MB",
            dashboard_address=":0",
        )
        self.client = Client(self.cluster)
        return self.client

    def __exit__(self, *exc):
        self.client.close()
        self.cluster.close()
        self.config.__exit__(*exc)


def main():
    logging.basicConfig(level=logging.INFO)
    with Desk() as client:
        logging.info("%d workers", len(client.scheduler_info()["workers"]))
        found = suspicious(share=0.02).compute()
        found.sort_values("copied", ascending=False).to_csv("suspicious.csv")
    print(len(found), "accounts for the desk")


if __name__ == "__main__":
    sys.exit(main())
