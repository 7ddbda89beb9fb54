"""Merge survey weights from the regional offices."""

import numpy as np
from dask.distributed import Client, LocalCluster

OFFICES = ["north", "east", "south", "west"]


def responses(office, wave):
    rng = np.random.default_rng([len(office), wave])
    return {"office": office, "age": rng.integers(16, 95, 300), "wave": wave}


def strata(block):
    edges = [16, 30, 45, 60, 75, 90]
    cell = np.digitize(block["age"], edges) - 1
    population = np.array([0.18, 0.21, 0.24, 0.22, 0.15])
    counts = np.bincount(cell, minlength=5)
    return population[cell] / (counts[cell] / counts.sum())


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        blocks = [
            client.submit(responses, office, wave)
            for office in OFFICES
            for wave in (1, 2)
        ]
        weights = client.map(strata, blocks)
        usable = client.gather(weights, errors="skip")
        merged = np.concatenate(usable)
        print("responses", merged.size, "mean weight", merged.mean().round(3))


if __name__ == "__main__":
    main()
