"""Clove harvest of three islands, each computed with the cluster that suits it.

Pemba has many small plots (processes), Unguja few large ones (threads), Tumbatu only a list that is
checked without any workers of its own process.  The islands follow one another, each with a new cluster.
"""

import logging
from dataclasses import dataclass

import dask
import dask.array as da
import dask.bag as db
import numpy as np
from distributed import Client, LocalCluster

log = logging.getLogger("cloves")


@dataclass(frozen=True)
class Island:
    name: str
    plots: int
    processes: bool
    workers: int
    threads: int


ISLANDS = [
    Island("pemba", 2000, True, 2, 1),
    Island("unguja", 800, False, 1, 2),
    Island("tumbatu", 300, True, 1, 1),
]


def plot_yield(number):
    rng = np.random.default_rng(number)
    rain = rng.gamma(9, 20, 2000)
    return {"plot": number, "kg": float(np.minimum(rain, 220).mean() / 12)}


def plots_of(island):
    return db.from_sequence(range(island.plots), npartitions=8).map(plot_yield)


def drying_loss(island):
    """Weight that goes with the sun, as a mean over a field of temperatures."""
    field = da.random.default_rng(island.plots).normal(
        31, 2, size=(2000, 1000), chunks=(500, 500)
    )
    return da.clip((field - 25) / 40, 0, 0.7).mean()


def harvest(island):
    with LocalCluster(
        n_workers=island.workers,
        threads_per_worker=island.threads,
        processes=island.processes,
        memory_limit="400MB",
        dashboard_address=None,
        name=island.name,
    ) as cluster:
        with Client(cluster) as client:
            client.wait_for_workers(island.workers, timeout=20)
            green, loss = dask.compute(
                plots_of(island).pluck("kg").sum(), drying_loss(island)
            )
            dry = green * (1 - loss)
            log.info(
                "%s: %.1f kg green, %.1f kg dry, on %s",
                island.name,
                green,
                dry,
                client.scheduler.address,
            )
            return dry


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    total = 0.0
    for island in ISLANDS:
        total += harvest(island)
    print(f"harvest of {len(ISLANDS)} islands: {total:.1f} kg dry")
    if total <= 0:
        raise SystemExit("no harvest")


if __name__ == "__main__":
    main()
