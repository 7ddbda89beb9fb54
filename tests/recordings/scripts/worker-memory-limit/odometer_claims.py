"""Checks warranty claims for turned-back odometers.

Claims are rated batch by batch. Beside that the mileages of the cars of each fleet are compared with each other,
since fleets turn odometers back in groups.
"""

import logging
import os
import time

import dask
import numpy as np
from distributed import Client, LocalCluster, get_worker

log = logging.getLogger("odometer")

FLEETS = {
    "AC-101": 300,
    "BD-145": 420,
    "CK-170": 380,
    "DR-199": 260,
    "HG-220": 9200,
    "JM-231": 350,
}


class Rater:
    """Rates one batch of claims; holds a table of limits per model."""

    def __init__(self, models=400):
        self.limits = np.linspace(9_000, 42_000, models)

    def __call__(self, batch):
        rng = np.random.default_rng(batch)
        suspicious = 0
        for _ in range(25):
            miles = rng.gamma(6, 4_000, 40_000)
            model = rng.integers(0, len(self.limits), miles.size)
            suspicious += int((miles > self.limits[model]).sum())
            time.sleep(0.08)
        return batch, suspicious


def rate_claims(batch):
    return Rater()(batch)


def mileage_matrix(fleet, cars):
    """Share of pairs of cars whose mileage curves are too close to each other."""
    rng = np.random.default_rng(cars)
    curves = rng.gamma(5, 3_000, (cars, 12)).cumsum(axis=1)
    rows = []
    for start in range(0, cars, 100):
        block = curves[start : start + 100]
        distance = np.sqrt(
            ((block[:, None, -3:] - curves[None, :, -3:]) ** 2).sum(axis=2)
        )
        rows.append(distance)
        time.sleep(0.03)
    close = sum(int((r < 40).sum()) for r in rows) - cars
    return fleet, close / (cars * (cars - 1))


def summary(claims, fleets):
    return {
        "claims": sum(n for _, n in claims),
        "fleets": {name: round(share, 6) for name, share in fleets},
        "made by": get_worker().name,
    }


def run(client):
    fleets = [
        client.submit(
            mileage_matrix, name, cars, key=f"mileage_matrix-{name}", priority=5
        )
        for name, cars in FLEETS.items()
    ]
    claims = [
        client.submit(rate_claims, n, key=f"rate_claims-{n:03d}") for n in range(14)
    ]
    for n, future in enumerate(claims):
        _, suspicious = future.result()
        if suspicious > 300_000:
            log.info("batch %d: %d claims to be looked at", n, suspicious)
    return client.submit(summary, claims, fleets, key="summary").result()


def main():
    logging.basicConfig(level=logging.INFO)
    dask.config.set(
        {
            "distributed.worker.memory.pause": False,
            "distributed.worker.memory.spill": False,
            "distributed.worker.memory.target": False,
        }
    )
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=2, memory_limit="330MB", dashboard_address=None
    )
    client = Client(cluster)
    try:
        result = run(client)
        log.info("%s", result)
    except Exception as err:
        log.error("run %d not finished: %s", os.getpid(), type(err).__name__)
        raise
    finally:
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
