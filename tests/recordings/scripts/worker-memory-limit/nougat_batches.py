"""Expand the recipes of the nougat works and price the gift boxes.

Stage one runs on the "kitchen" cluster and leaves one ingredient sheet per
recipe; stage two prices the boxes on the "office" cluster.
"""

import argparse
import json
import logging
import sys
import tempfile
import time
from pathlib import Path

import dask
import numpy as np
from distributed import Client, LocalCluster, as_completed

log = logging.getLogger("nougat_batches")

RECIPES = {
    "montelimar": 2,
    "torrone": 3,
    "turron": 2,
    "gaz": 3,
    "halva": 2,
    "praline": 3,
    "wedding-tower": 90,
}
BOXES = {
    "small": ["torrone", "gaz"],
    "classic": ["montelimar", "halva", "praline"],
    "feast": ["turron", "wedding-tower"],
    "family": ["montelimar", "torrone", "turron"],
}
PRICES = np.array([0.012, 0.031, 0.008, 0.019, 0.045])


def expand_recipe(name, layers, folder):
    """Portion table of all layers of a recipe, summed up per ingredient."""
    rng = np.random.default_rng(len(name))
    tables = []
    for layer in range(layers):
        # one row per portion, one column per ingredient
        tables.append(rng.random((400_000, 5)) * (layer + 1))
        time.sleep(0.1)
    grams = sum(table.mean(axis=0) for table in tables)
    target = Path(folder) / f"{name}.json"
    target.write_text(json.dumps(grams.tolist()))
    return target.name


def price_box(box, recipes, folder):
    total = 0.0
    for recipe in recipes:
        grams = json.loads((Path(folder) / f"{recipe}.json").read_text())
        total += float(PRICES @ np.array(grams))
    return box, round(total, 3)


def run_kitchen(folder, limit):
    """Stage one; returns how many sheets were written."""
    written = 0
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            memory_limit=limit,
            dashboard_address=None,
            name="kitchen",
        ) as cluster,
        Client(cluster) as client,
    ):
        futures = {
            client.submit(expand_recipe, name, layers, folder): name
            for name, layers in RECIPES.items()
        }
        for future in as_completed(futures):
            name = futures[future]
            try:
                log.info("wrote %s", future.result())
                written += 1
            except Exception:
                log.warning("recipe %s is not ready yet", name)
    return written


def run_office(folder):
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=2,
            processes=False,
            dashboard_address=None,
            name="office",
        ) as cluster,
        Client(cluster) as client,
    ):
        boxes = [
            client.submit(price_box, box, recipes, folder)
            for box, recipes in BOXES.items()
        ]
        return dict(client.gather(boxes))


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kitchen-memory", default="330MB")
    args = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    dask.config.set({"distributed.scheduler.allowed-failures": 0})

    with tempfile.TemporaryDirectory(prefix="nougat-") as folder:
        log.info("kitchen wrote %d sheets", run_kitchen(folder, args.kitchen_memory))
        for box, price in run_office(folder).items():
            log.info("box %-8s %.3f", box, price)
    return 0


if __name__ == "__main__":
    sys.exit(main())
