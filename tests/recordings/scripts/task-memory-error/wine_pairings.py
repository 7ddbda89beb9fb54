"""Which wines are bought together: counts per customer for the newsletter.

The shop's orders come in files of 20,000 lines.  Each is turned into a table
customer x wine, from which the pairs are counted; the files' pairs are added up.
"""

import logging
import os

import dask
import numpy as np
import pandas as pd
from dask.distributed import Client

WINES = 300
FILES = 9
log = logging.getLogger("pairings")


def write_orders(folder):
    os.makedirs(folder, exist_ok=True)
    rng = np.random.default_rng(9)
    for number in range(FILES):
        orders = pd.DataFrame(
            {
                "customer_id": rng.integers(1, 6_000, 20_000),
                "wine_id": rng.integers(0, WINES, 20_000),
                "bottles": rng.integers(1, 12, 20_000),
            }
        )
        if number >= FILES - 2:
            # orders of the sister shop: its customer numbers begin with country and year
            guest = rng.random(len(orders)) < 0.05
            orders.loc[guest, "customer_id"] += 49_202_600_000
        orders.to_csv(os.path.join(folder, f"orders_{number:03d}.csv"), index=False)


@dask.delayed
def read_orders(path):
    orders = pd.read_csv(path)
    return orders[orders["bottles"] > 0]


@dask.delayed
def customer_table(orders):
    customers = int(orders["customer_id"].max()) + 1
    table = np.zeros((customers, WINES), dtype="float32")
    np.add.at(
        table, (orders["customer_id"].to_numpy(), orders["wine_id"].to_numpy()), 1
    )
    return table > 0


@dask.delayed
def count_pairs(bought):
    bought = bought.astype("float32")
    pairs = bought.T @ bought
    np.fill_diagonal(pairs, 0)
    return pairs


@dask.delayed
def add_up(parts):
    return np.sum(parts, axis=0)


def best_pairs(pairs, how_many):
    order = np.argsort(pairs, axis=None)[::-1][: 2 * how_many : 2]
    return [
        tuple(int(place) for place in np.unravel_index(one, pairs.shape))
        for one in order
    ]


def main():
    logging.basicConfig(level=logging.INFO)
    write_orders("orders")
    with Client(
        n_workers=2, threads_per_worker=1, memory_limit="500MB", dashboard_address=None
    ) as client:
        names = sorted(os.listdir("orders"))
        pairs = add_up(
            [
                count_pairs(customer_table(read_orders(os.path.join("orders", name))))
                for name in names
            ]
        )
        future = client.compute(pairs)
        try:
            result = future.result(timeout=50)
        finally:
            log.info("%d files, job %s", len(names), future.status)
        for one, other in best_pairs(result, 5):
            log.info("wines %d and %d: %d customers", one, other, result[one, other])


if __name__ == "__main__":
    main()
