"""Which items are bought together: the weekly affinity table of the web shop.

One basket file per store; each gives a matrix of customers by items, whose product is the affinity of the store.
"""

import json
import random
import sys
from pathlib import Path

import dask
import numpy as np
import pandas as pd
from dask.distributed import Client

ITEMS = 60
STORES = ["aachen", "bonn", "celle", "dresden", "erfurt", "fulda", "giessen", "halle"]


def export_baskets(folder):
    """Stands for the export of the tills."""
    folder.mkdir(exist_ok=True)
    for store in STORES:
        rng = random.Random(store)
        rows = [
            {"customer": rng.randrange(4000), "item": rng.randrange(ITEMS)}
            for _ in range(5000)
        ]
        if store == "fulda":
            # the new till there writes the loyalty card's number until the customer is known
            rows[3127]["customer"] = 2760014488170325
        with open(folder / f"{store}.jsonl", "w") as out:
            out.writelines(json.dumps(r) + "\n" for r in rows)


@dask.delayed
def read_baskets(path):
    with open(path) as f:
        return pd.DataFrame([json.loads(line) for line in f])


@dask.delayed
def customer_matrix(baskets):
    try:
        baskets = baskets.assign(weight=baskets["quantity"])
    except KeyError:
        baskets = baskets.assign(weight=1)  # old tills have no quantity
    matrix = np.zeros((int(baskets.customer.max()) + 1, ITEMS), dtype="float32")
    np.add.at(
        matrix,
        (baskets.customer.to_numpy(), baskets.item.to_numpy()),
        baskets.weight.to_numpy(),
    )
    return matrix


@dask.delayed
def affinity(matrix):
    product = matrix.T @ matrix
    np.fill_diagonal(product, 0)
    return product


@dask.delayed
def combine(products):
    total = sum(products)
    first, second = np.unravel_index(
        np.argsort(total, axis=None)[::-1][:20], total.shape
    )
    return pd.DataFrame(
        {"first": first, "second": second, "together": total[first, second]}
    )


def build(folder):
    products = []
    for store in STORES:
        baskets = read_baskets(str(folder / f"{store}.jsonl"))
        products.append(affinity(customer_matrix(baskets)))
    return combine(products)


def main():
    folder = Path("baskets").resolve()
    export_baskets(folder)
    client = Client(
        n_workers=2, threads_per_worker=1, memory_limit="450MB", dashboard_address=None
    )
    try:
        table = build(folder).compute()
        table.to_csv("affinity.csv", index=False)
        print(table.head())
    finally:
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()
        client.shutdown()


if __name__ == "__main__":
    sys.exit(main())
