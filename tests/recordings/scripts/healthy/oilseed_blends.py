"""Blends of oilseeds.

Every delivery has a spectrum cube. All are needed at once for the correlation of deliveries, which is why they are
kept; the nodes have little memory and a fast disk.
"""

import argparse
import sys
import time

import dask
import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster, wait

SETTINGS = {
    "distributed.worker.memory.target": 0.4,
    "distributed.worker.memory.spill": 0.5,
    "distributed.worker.memory.pause": 0.85,
}


def spectrum(block_info=None):
    """Spectra of a block of deliveries."""
    info = block_info[None]
    rng = np.random.default_rng(info["chunk-location"])
    base = np.sin(np.linspace(0, 30, info["chunk-shape"][1]))
    time.sleep(0.1)
    return base + rng.normal(0, 0.2, info["chunk-shape"])


def deliveries(n, bands, block):
    return da.map_blocks(
        spectrum, chunks=((block,) * (n // block), (bands,)), dtype=float
    )


def blend_scores(cubes):
    """Every delivery against the mean spectrum, and the mean against itself."""
    mean = cubes.mean(axis=0)
    norm = da.sqrt((cubes**2).sum(axis=1)) * da.sqrt((mean**2).sum())
    return (cubes * mean).sum(axis=1) / norm


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--deliveries", type=int, default=12_000)
    ap.add_argument("--bands", type=int, default=5_000)
    args = ap.parse_args()
    dask.config.set(SETTINGS)
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            t0 = time.time()
            cubes = deliveries(args.deliveries, args.bands, 400).persist()
            wait(cubes)
            print(f"{cubes.nbytes / 1e6:.0f} MB of spectra in {time.time() - t0:.1f} s")
            scores = blend_scores(cubes).compute()
            best = np.argsort(scores)[::-1][:5]
            print("most typical deliveries:", ", ".join(map(str, best)))
            if not np.isfinite(scores).all():
                print("scores are not finite", file=sys.stderr)
                return 2
            client.cancel(cubes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
