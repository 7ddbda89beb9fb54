"""Enrich the day's mobile call records with the coverage map of their cell.

Neighbouring cells are looked at again and again, so every worker keeps the
maps it has loaded.  Output is one figure per cell for the network planners.
"""

import logging
import os
import sys
import time

import numpy as np
from dask.distributed import Client, LocalCluster, get_worker, wait

log = logging.getLogger("records")
CELLS = int(os.environ.get("RECORDS_CELLS", "70"))
PATIENCE = float(os.environ.get("RECORDS_PATIENCE", "22"))


class CoverageMaps:
    """Coverage maps by cell; loads a map when it is asked for the first time."""

    def __init__(self):
        self.maps = {}
        self.hits = 0

    def load(self, cell):
        rng = np.random.default_rng(cell)
        return rng.random((1250, 1200))

    def get(self, cell):
        if cell in self.maps:
            self.hits += 1
        else:
            self.maps[cell] = self.load(cell)
        return self.maps[cell]


def coverage_maps():
    worker = get_worker()
    if not hasattr(worker, "coverage_maps"):
        worker.coverage_maps = CoverageMaps()
    return worker.coverage_maps


def enrich(cell, calls):
    maps = coverage_maps()
    own = maps.get(cell)
    time.sleep(0.1)
    picked = own[calls % 1250, (calls * 7) % 1200]
    return float(picked.mean())


def calls_of(cell):
    if cell % 31 == 30:
        raise FileNotFoundError(f"records of cell {cell} not delivered")
    return np.arange(cell, cell + 400)


def summarise(figures):
    return {"cells": len(figures), "mean": float(np.mean(figures))}


def run(client):
    futures = []
    for cell in range(CELLS):
        try:
            calls = calls_of(cell)
        except FileNotFoundError as e:
            log.warning("%s", e)
            continue
        futures.append(client.submit(enrich, cell, calls, key=f"enrich-{cell}"))
    summary = client.submit(summarise, futures, key="summarise")
    try:
        wait([summary], timeout=PATIENCE)
    except TimeoutError:
        done = sum(f.done() for f in futures)
        log.error("%d of %d cells after %.0f s", done, len(futures), PATIENCE)
        raise
    return summary.result()


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="330MB", dashboard_address=":0"
    )
    client = Client(cluster)
    try:
        log.info("summary: %s", run(client))
    finally:
        client.close()
        cluster.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
