"""Looks for rings of colluding traders: per customer, all orders are compared pairwise in time and price.

Runs after the close over the order files of the day; the output is a list of customers for the compliance desk.
"""

import logging
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

log = logging.getLogger("collusion")

WINDOW = 0.8  # seconds
TICK = 0.05
HOUSE = "C-00000"  # orders that came without a customer are booked on the house account


def write_orders(folder: Path, hours: int) -> None:
    rng = np.random.default_rng(77)
    folder.mkdir(exist_ok=True)
    for hour in range(hours):
        # a broker's gateway lost its customer mapping around noon
        unmapped = 110_000 if hour in (3, 4, 5, 6) else 40
        regular = 3_000
        size = unmapped + regular
        customer = np.concatenate(
            [
                np.repeat(HOUSE, unmapped),
                np.char.mod("C-%05d", rng.integers(1, 900, regular)),
            ]
        )
        frame = pd.DataFrame(
            {
                "customer": customer,
                "seconds": rng.random(size) * 3600 + hour * 3600,
                "price": rng.normal(100, 2, size).round(2),
            }
        )
        frame.to_parquet(folder / f"orders-{hour:02d}.parquet", index=False)


def close_pairs(orders: pd.DataFrame) -> float:
    """Share of order pairs of a customer that are close in time and price."""
    seconds = orders["seconds"].to_numpy()
    price = orders["price"].to_numpy()
    if len(orders) < 2:
        return 0.0
    gap = np.abs(np.subtract.outer(seconds, seconds))
    spread = np.abs(np.subtract.outer(price, price))
    near = (gap < WINDOW) & (spread < TICK)
    return float((near.sum() - len(orders)) / (len(orders) * (len(orders) - 1)))


def rings(folder: Path) -> pd.Series:
    orders = dd.read_parquet(str(folder / "orders-*.parquet"))
    share = orders.groupby("customer")[["seconds", "price"]].apply(
        close_pairs, meta=("share", "f8")
    )
    return share[share > 0.001].compute()


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    folder = Path("orders")
    write_orders(folder, hours=9)
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="500MB", dashboard_address=None
    ) as cluster:
        with Client(cluster):
            try:
                suspects = rings(folder)
            except Exception:
                log.error("no list for the compliance desk today")
                raise
    suspects.to_csv("suspects.csv")
    log.info("%d customers to look at", len(suspects))


if __name__ == "__main__":
    main()
