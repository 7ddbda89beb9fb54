"""Levels of the city's cisterns: the fine model when it fits into memory, the coarse one otherwise."""

import logging
import time

import dask
import numpy as np
from dask.distributed import Client, KilledWorker, LocalCluster

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
log = logging.getLogger("cisterns")
dask.config.set({"distributed.scheduler.allowed-failures": 0})


def fine_model(cistern, layers):
    grid = []
    for layer in range(layers):
        grid.append(np.full((1000, 1000), cistern + layer, dtype="float64"))
        time.sleep(0.06)
    return float(np.mean([layer.mean() for layer in grid]))


def coarse_model(cistern, layers):
    time.sleep(0.2)
    return cistern + (layers - 1) / 2


def level(client, cistern, layers):
    try:
        return "fine", client.submit(
            fine_model, cistern, layers, key=f"fine_model-{cistern}"
        ).result()
    except KilledWorker:
        log.warning(
            "cistern %d is too large for the fine model, taking the coarse one", cistern
        )
        client.wait_for_workers(2)
        return "coarse", client.submit(
            coarse_model, cistern, layers, key=f"coarse_model-{cistern}"
        ).result()


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="500MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            client.wait_for_workers(2)
            levels = {
                cistern: level(client, cistern, layers)
                for cistern, layers in ((1, 8), (2, 150), (3, 10), (4, 6))
            }
    for cistern, (model, value) in levels.items():
        log.info("cistern %d: %.2f (%s model)", cistern, value, model)
    assert [model for model, _ in levels.values()] == ["fine", "coarse", "fine", "fine"]


if __name__ == "__main__":
    main()
