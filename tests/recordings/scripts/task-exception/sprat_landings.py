"""Monthly landings by harbour and species for the fisheries office.

Each harbour sends one CSV file a night.  The job reads them all, drops test
boats, adds the price list and writes one table by species and harbour.
"""

import argparse
import logging
import pathlib
import random

import dask
import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client, LocalCluster

log = logging.getLogger("landings")

HARBOURS = ["brixham", "fraserburgh", "lerwick", "newlyn", "peterhead", "troon"]
SPECIES = ["sprat", "herring", "mackerel", "whiting"]


def receive(inbox, day):
    """What the harbours have put into the inbox over night."""
    rng = random.Random(day)
    inbox.mkdir(parents=True, exist_ok=True)
    for harbour in HARBOURS:
        lines = ["boat,species,boxes,weight_kg,landed_at"]
        for n in range(4000):
            weight = f"{rng.uniform(20, 900):.1f}"
            boxes = rng.randint(1, 40)
            if harbour == "peterhead" and n > 3100 and n % 9 == 0:
                weight = weight.replace(".", " t ")
            boat = f"{harbour[:2].upper()}{rng.randint(1, 60):03d}"
            lines.append(
                f"{boat},{rng.choice(SPECIES)},{boxes},{weight},{day}T{rng.randint(0, 23):02d}:00"
            )
        (inbox / f"{harbour}.csv").write_text("\n".join(lines) + "\n")


def price_list(folder):
    """Today's prices, or those of the last auction if they are late."""
    try:
        return pd.read_csv(folder / "prices_today.csv")
    except FileNotFoundError as error:
        log.warning("no prices of today (%s), taking the last auction", error)
        return pd.DataFrame({"species": SPECIES, "price": [0.31, 0.85, 1.42, 0.97]})


def without_test_boats(part):
    return part[~part["boat"].str.endswith("000")]


def value_of(part, prices):
    joined = part.merge(prices, on="species", how="left")
    joined["value"] = joined["weight_kg"] * joined["price"]
    return joined[["boat", "species", "weight_kg", "value"]]


def landings(inbox, prices):
    table = dd.read_csv(str(inbox / "*.csv"), sample=20000)
    table = table.map_partitions(without_test_boats)
    valued = table.map_partitions(value_of, prices)
    by_species = valued.groupby("species")[["weight_kg", "value"]].sum()
    by_boat = valued.groupby("boat")["value"].max()
    return by_species, by_boat


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--day", default="2026-11-27")
    parser.add_argument("--inbox", type=pathlib.Path, default=pathlib.Path("inbox"))
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    receive(args.inbox, args.day)
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    client = Client(cluster)
    try:
        prices = price_list(args.inbox)
        by_species, by_boat = dask.compute(*landings(args.inbox, prices))
        by_species.round(1).to_csv("landings_by_species.csv")
        log.info("%d boats, best landing %.2f", len(by_boat), by_boat.max())
    finally:
        log.info("closing the cluster")
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
