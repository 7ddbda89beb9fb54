"""Harvest of the seaweed co-operative: landings in kilograms become payments to the members.

Workers load the co-operative's price list once, when they start (see price_list.py, which is deployed with the job).
"""

import json
import logging
import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd

import dask
import dask.dataframe as dd
from distributed import Client, LocalCluster

log = logging.getLogger("seaweed")

PRICE_LIST = '''
"""Price list of the co-operative for workers."""
import json
import os

SPECIES = ("dulse", "kelp", "laver")
prices = {}


def read_prices(path):
    with open(path) as stream:
        table = json.load(stream)
    return {species: float(table[species]["per_kg"]) for species in SPECIES}


async def dask_setup(worker):
    prices.update(read_prices(os.environ["PRICE_FILE"]))
'''


def deploy(folder: Path) -> Path:
    """Stands in for the deployment: module and price file of the season."""
    (folder / "price_list.py").write_text(PRICE_LIST)
    season = {
        "dulse": {"per_kg": "6.10"},
        "kelp": {"per_kg": "1.35"},
        "nori": {"per_kg": "9.80"},
    }
    (folder / "prices-2027.json").write_text(json.dumps(season))
    os.environ["PRICE_FILE"] = str(folder / "prices-2027.json")
    return folder / "price_list.py"


def landings(day):
    rng = np.random.default_rng(day)
    return pd.DataFrame(
        {
            "member": rng.integers(1, 80, 3000),
            "species": rng.choice(["dulse", "kelp"], 3000),
            "kg": rng.gamma(2, 15, 3000),
        }
    )


def pay(frame):
    from price_list import prices

    per_kg = np.array([prices[species] for species in frame["species"]])
    return frame.assign(amount=frame["kg"].to_numpy() * per_kg)


def payments(days):
    frame = dd.from_map(landings, range(days))
    meta = landings(0).iloc[:0].assign(amount=0.0)
    return frame.map_partitions(pay, meta=meta).groupby("member")["amount"].sum()


def main():
    logging.basicConfig(level=logging.INFO, format="%(name)s %(levelname)s %(message)s")
    module = deploy(Path.cwd())
    dask.config.set({"distributed.worker.preload": [str(module)]})
    cluster = client = None
    try:
        cluster = LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="350MB",
            dashboard_address=None,
        )
        client = Client(cluster, timeout="20s")
        client.wait_for_workers(2, timeout=20)
        log.info(
            "%d landings on the first day", len(client.submit(landings, 0).result())
        )
        result = payments(6).compute()
        result.to_csv("payments.csv")
        log.info("%d members are paid %.2f", len(result), result.sum())
    finally:
        for thing in (client, cluster):
            if thing is not None:
                thing.close()


if __name__ == "__main__":
    sys.exit(main())
