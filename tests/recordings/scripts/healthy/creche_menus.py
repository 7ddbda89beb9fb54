"""Menus of the town's creches: nutrition, shopping list and cost, one after another.

The three parts were written by three people; each brings up the cluster it likes and
takes it down again. The last part reads the files of the first two.
"""

import json
import logging
import pathlib

import dask.array as da
import dask.bag as db
import numpy as np
import pandas as pd
import dask.dataframe as dd
from distributed import Client, LocalCluster

log = logging.getLogger("menus")
OUT = pathlib.Path("menus")
DISHES = ["soup", "pasta", "fish", "stew", "porridge", "salad"]


def nutrition():
    """Energy of a month's menus: arrays, one threaded worker."""
    with LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
    ) as cluster:
        with Client(cluster):
            portions = da.random.default_rng(1).uniform(
                80, 240, size=(6000, 60), chunks=(1000, 60)
            )
            energy = (portions * da.linspace(0.8, 4.2, 60, chunks=60)).sum(axis=1)
            mean, top = da.compute(energy.mean(), energy.max())
    (OUT / "nutrition.json").write_text(
        json.dumps({"mean": float(mean), "max": float(top)})
    )
    log.info("nutrition: mean %.0f kcal", mean)


def one_order(day):
    dish = DISHES[day % len(DISHES)]
    return {"day": day, "dish": dish, "children": 30 + (day * 13) % 25}


def kilos(order):
    if order["dish"] == "fish" and order["children"] > 50:
        order = {**order, "children": 50}
    return {**order, "kilos": round(order["children"] * 0.22, 2)}


def shopping():
    """Orders of the creches: a bag, two worker processes."""
    with Client(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=None
    ) as client:
        orders = db.from_sequence(range(300), npartitions=6).map(one_order).map(kilos)
        rows = orders.compute()
        client.cluster.close()
    pd.DataFrame(rows).to_parquet(OUT / "orders.parquet", index=False)
    log.info("shopping: %d orders", len(rows))


def cost():
    """Cost per dish: a dataframe, another two worker processes."""
    prices = pd.Series(np.linspace(2.0, 7.0, len(DISHES)), index=DISHES)
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=None
    )
    client = Client(cluster)
    try:
        orders = dd.read_parquet(str(OUT / "orders.parquet")).repartition(npartitions=3)
        total = orders.groupby("dish")["kilos"].sum().compute()
    finally:
        client.close()
        cluster.close()
    table = (total * prices).round(2)
    table.to_csv(OUT / "cost.csv")
    return float(table.sum())


def main():
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    OUT.mkdir(exist_ok=True)
    nutrition()
    shopping()
    total = cost()
    limits = json.loads((OUT / "nutrition.json").read_text())
    print(f"menus cost {total:.2f}, at most {limits['max']:.0f} kcal")


if __name__ == "__main__":
    main()
