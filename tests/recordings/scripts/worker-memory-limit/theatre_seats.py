"""Which visitors sat in the same house: feature build for the recommendation
of plays.

Sales of all box offices are joined with the mailings of the season by customer
number.  Sales at the evening counter have the customer number 0.
"""

import logging
import sys

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

dask.config.set(
    {
        "dataframe.shuffle.method": "tasks",
        "distributed.scheduler.allowed-failures": 1,
        "distributed.comm.timeouts.connect": "10s",
    }
)

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stdout
)
log = logging.getLogger("seats")

PLAYS = ["Hamlet", "The Seagull", "Faust", "Tartuffe"]


def box_office(number):
    """Sales of one box office; the counter at the new stage has no customer cards."""
    rng = np.random.default_rng(number)
    size = 6_000
    customer = rng.integers(1, 40_000, size)
    if number == 5:
        customer[: size - 500] = 0
    return pd.DataFrame(
        {
            "customer_no": customer,
            "row": rng.integers(1, 30, size),
            "seat": rng.integers(1, 40, size),
            "price": rng.choice([12.0, 18.0, 27.0, 45.0], size),
        }
    )


def mailing(number):
    rng = np.random.default_rng(100 + number)
    size = 5_000
    customer = rng.integers(1, 40_000, size)
    customer[rng.random(size) < 0.5] = 0  # subscribers by e-mail only
    return pd.DataFrame(
        {
            "customer_no": customer,
            "play_code": rng.integers(0, len(PLAYS), size),
            "opened": rng.random(size) < 0.3,
        }
    )


def build_features():
    sales = dd.from_map(box_office, range(6))
    mailings = dd.from_map(mailing, range(4))
    seats = sales.merge(mailings, on="customer_no", how="inner")
    seats["answered"] = seats["opened"] & (seats["price"] > 15)
    return seats.groupby("play_code").agg(
        {"answered": "mean", "price": "mean", "seat": "count"}
    )


def overview():
    sales = dd.from_map(box_office, range(6))
    count, income = dask.compute(sales["seat"].count(), sales["price"].sum())
    log.info("%d seats sold, income %.2f", count, income)


def main():
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="350MB", dashboard_address=None
    )
    client = Client(cluster)
    code = 0
    try:
        overview()
        features = build_features().compute()
        features.index = [PLAYS[code] for code in features.index]
        features.to_csv("features.csv")
        log.info("features:\n%s", features)
    except Exception:
        log.exception("features of this night are missing")
        code = 3
    finally:
        client.close()
        cluster.close(timeout=30)
    return code


if __name__ == "__main__":
    sys.exit(main())
