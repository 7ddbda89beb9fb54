"""Similarity of moth traps: pair matrix of the catches; the largest site has far too many."""

import time

import dask.bag as db
import numpy as np
from dask.distributed import Client, LocalCluster

SITES = [
    ("lindau", 800),
    ("kempten", 1100),
    ("fuessen", 600),
    ("isny", 31_000_000),
    ("wangen", 900),
    ("sonthofen", 700),
]


def catches(site):
    name, n = site
    time.sleep(0.3)
    return name, np.arange(n, dtype="int32") % 97


def pair_matrix(catch):
    name, species = catch
    pairs = np.zeros((len(species), len(species)), dtype="float64")
    pairs += species[:, None] == species[None, :]
    return name, float(pairs.mean())


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="600MiB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster):
            bag = db.from_sequence(SITES, npartitions=6)
            print(dict(bag.map(catches).map(pair_matrix).compute()))


if __name__ == "__main__":
    main()
