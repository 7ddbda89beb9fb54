"""Potency of vaccine lots: assay, normalise against the reference, rank."""

import random

import dask
from dask import delayed
from dask.distributed import Client

LOTS = [f"L{n:03d}" for n in range(30)]


@delayed
def assay(lot, seed):
    rng = random.Random(seed)
    wells = [rng.gauss(50, 4) for _ in range(8)]
    return {"lot": lot, "wells": wells}


@delayed
def reference(plate):
    blanks = {0: [0.1, 0.2], 1: [0.15, 0.12], 2: []}
    return {"plate": plate, "blanks": blanks[plate]}


@delayed
def normalise(sample, ref):
    background = sum(ref["blanks"]) / len(ref["blanks"])
    signal = sum(sample["wells"]) / len(sample["wells"])
    return sample["lot"], signal - background


@delayed
def rank(rows):
    return sorted(rows, key=lambda r: -r[1])[:5]


def build():
    plates = [reference(p) for p in range(3)]
    rows = [
        normalise(assay(lot, n), plates[n * 3 // len(LOTS)])
        for n, lot in enumerate(LOTS)
    ]
    return rank(rows)


if __name__ == "__main__":
    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    try:
        (best,) = dask.compute(build())
        print(best)
    finally:
        client.close()
        client.cluster.close()
