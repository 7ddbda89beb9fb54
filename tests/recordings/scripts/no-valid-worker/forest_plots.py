"""Inventory of the sample plots: basal area per plot, stand volume per district."""

import argparse
import logging
import os
import sys

import dask
import dask.bag as db
import numpy as np
from dask.distributed import Client, LocalCluster

log = logging.getLogger("forest_plots")

SPECIES = {"beech": 0.56, "spruce": 0.47, "oak": 0.59, "larch": 0.51}


def settings():
    """Sizes come from the environment of the batch queue, with defaults for the laptop."""
    return {
        "cores": int(os.environ.get("PLOTS_CORES", "1")),
        "threads": int(os.environ.get("PLOTS_THREADS", "2")),
        "memory": os.environ.get("PLOTS_MEMORY", "300MiB"),
    }


def start_cluster(conf):
    cluster = LocalCluster(
        n_workers=0,
        threads_per_worker=conf["threads"],
        memory_limit=conf["memory"],
        dashboard_address=":0",
    )
    # grow with the work, but stay within the cores that the queue gave us
    cluster.adapt(minimum=0, maximum_cores=conf["cores"], interval="500ms")
    return cluster


def plot_trees(plot):
    rng = np.random.default_rng(plot)
    names = list(SPECIES)
    return [
        {
            "plot": plot,
            "species": names[int(k)],
            "dbh": float(d),
            "height": float(1.3 + 22 * (1 - np.exp(-0.04 * d))),
        }
        for k, d in zip(rng.integers(0, 4, 60), rng.gamma(6, 5, 60))
    ]


def basal_area(trees):
    return sum(np.pi * (t["dbh"] / 200) ** 2 for t in trees)


def volume(trees):
    return sum(
        SPECIES[t["species"]] * np.pi * (t["dbh"] / 200) ** 2 * t["height"]
        for t in trees
    )


def summarise(trees):
    return {"plot": trees[0]["plot"], "g": basal_area(trees), "v": volume(trees)}


def by_district(row):
    return row["plot"] // 50


def add_volume(total, row):
    return total + row["v"]


def district_volumes(client, plots):
    rows = db.from_sequence(range(plots), npartitions=8).map(plot_trees).map(summarise)
    folded = rows.foldby(by_district, add_volume, 0.0, lambda a, b: a + b, 0.0)
    return client.compute(folded)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--plots", type=int, default=400)
    ap.add_argument("--timeout", type=float, default=25)
    args = ap.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    dask.config.set({"distributed.comm.timeouts.connect": "10s"})

    conf = settings()
    log.info("settings %s", conf)
    with start_cluster(conf) as cluster, Client(cluster) as client:
        future = district_volumes(client, args.plots)
        volumes = dict(future.result(timeout=args.timeout))
        for district in sorted(volumes):
            log.info("district %d: %.0f m3", district, volumes[district])
        log.info("total %.0f m3", sum(volumes.values()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
