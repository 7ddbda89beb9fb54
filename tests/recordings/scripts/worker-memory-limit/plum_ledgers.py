"""Quarterly ledger of the fruit wholesaler.

Prices, deliveries and the settlement of the markets are independent of each
other, so they share the workers: two threads each.
"""

import time

import click
import dask
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster


def market_prices(market, days):
    """Average price per day: small, but slow because of the pricing service."""
    rng = np.random.default_rng(days)
    frame = pd.DataFrame({"day": np.arange(days), "price": rng.normal(2.1, 0.2, days)})
    for _ in range(40):
        time.sleep(0.1)
        frame["price"] = frame["price"].ewm(span=9).mean()
    return market, float(frame["price"].mean())


def deliveries(depot):
    rng = np.random.default_rng(len(depot))
    crates = rng.integers(1, 40, 20_000)
    for _ in range(30):
        time.sleep(0.1)
        crates = np.sort(crates)
    return depot, int(crates.sum())


def settle_accounts(quarter, buyers, sellers):
    """Open amounts of every buyer with every seller."""
    rng = np.random.default_rng(quarter)
    owed = rng.random(buyers)
    open_amounts = []
    for seller in range(sellers):
        weight = rng.random(buyers)
        open_amounts.append(owed * weight)
        time.sleep(0.02)
    return quarter, float(np.sum([a.sum() for a in open_amounts]))


@click.command()
@click.option("--buyers", default=400_000)
@click.option("--sellers", default=600)
def main(buyers, sellers):
    dask.config.set(
        {
            "distributed.scheduler.allowed-failures": 0,
            "distributed.worker.memory.spill": False,
            "distributed.worker.memory.target": False,
            "distributed.worker.memory.pause": False,
        }
    )
    with LocalCluster(
        n_workers=2, threads_per_worker=2, memory_limit="450MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            work = client.map(
                market_prices, ["rungis", "covent", "mercabarna"], days=90
            )
            work += client.map(deliveries, ["north", "south", "old port"])
            work.append(client.submit(settle_accounts, 3, buyers, sellers, priority=5))
            for name, value in client.gather(work):
                click.echo(f"{name}: {value:,.2f}")


if __name__ == "__main__":
    main()
