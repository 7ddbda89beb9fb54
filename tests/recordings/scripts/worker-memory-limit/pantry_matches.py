"""Match the products of grocery shops in several cities with the recipe book."""

import argparse
import logging
import sys
import tempfile

import dask
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster, as_completed

log = logging.getLogger("pantry")

CITIES = {"york": 1, "leeds": 2, "bristol": 3, "oban": 4, "truro": 5}


def barcode(rng, n, blanks=0.0):
    codes = pd.Series(rng.integers(10**11, 10**11 + 90_000, n).astype(str))
    if blanks:
        codes[rng.random(n) < blanks] = ""
    return codes.str.strip()


def recipe_book(size=7000):
    rng = np.random.default_rng(77)
    return pd.DataFrame(
        {
            "code": barcode(rng, size, blanks=0.35),
            "recipe": rng.integers(0, 1200, size),
            "grams": rng.integers(5, 900, size),
        }
    )


def shop_products(city):
    seed = CITIES[city]
    rng = np.random.default_rng(seed)
    size = 7000
    # the tills in Bristol were replaced in May
    blanks = 0.45 if city == "bristol" else 0.0
    return pd.DataFrame(
        {
            "code": barcode(rng, size, blanks),
            "price": rng.integers(20, 2000, size) / 100,
            "stock": rng.integers(0, 80, size),
        }
    )


def match_city(products, recipes, city):
    """Products which a recipe of the book asks for."""
    pairs = products.merge(recipes, on="code", how="inner")
    pairs["cost"] = pairs["price"] * pairs["grams"] / 1000
    pairs = pairs[pairs["stock"] > 0]
    pairs = pairs.sort_values(["recipe", "cost"])
    cheapest = pairs.groupby("recipe", sort=False).first()
    return {
        "city": city,
        "matched": len(cheapest),
        "mean_cost": float(cheapest["cost"].mean()),
    }


def harvest(futures):
    rows = []
    for fut in as_completed(futures, raise_errors=False):
        if fut.status == "error":
            log.info("city %s left for the next run", futures[fut])
            continue
        rows.append(fut.result())
    return pd.DataFrame(rows)


def publish(summary, out):
    table = summary.set_index("city").loc[list(CITIES)]
    table.to_csv(out)
    log.info("wrote %d cities, %d matches", len(table), table.matched.sum())


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memory", default="300MiB")
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )

    dask.config.set({"distributed.scheduler.allowed-failures": 1})
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            memory_limit=args.memory,
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        recipes = client.submit(recipe_book, key="recipe_book")
        futures = {}
        for city in CITIES:
            products = client.submit(shop_products, city, key=f"shop_products-{city}")
            fut = client.submit(
                match_city, products, recipes, city, key=f"match_city-{city}"
            )
            futures[fut] = city
        summary = harvest(futures)
        with tempfile.NamedTemporaryFile("w", suffix=".csv") as out:
            publish(summary, out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
