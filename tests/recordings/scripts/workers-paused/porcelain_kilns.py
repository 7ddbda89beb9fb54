"""Firing quality of porcelain kilns.

Every kiln has a cube of thermocouple readings per firing. The cubes are smoothed, kept on the cluster
for the analysts' questions of the morning, and summed up to a page per kiln.
"""

import logging
import os
import sys
import zlib

import dask
import numpy as np
from dask.distributed import Client, LocalCluster, as_completed

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
log = logging.getLogger("kilns")

SETTINGS = {
    # the nodes have no local disk, and the platform watches the memory itself
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": 0.75,
    "distributed.worker.memory.terminate": False,
    "distributed.worker.memory.transfer": 0.1,
}
KILNS = [f"K{n:02d}" for n in range(1, 17)]


def read_cube(kiln, firing):
    """Readings: minutes x sensors x levels."""
    rng = np.random.default_rng(zlib.crc32(f"{kiln}-{firing}".encode()))
    ramp = np.linspace(20, 1320, 640)[:, None, None]
    return ramp + rng.normal(0, 4, (640, 96, 64))


def smooth(cube, width=5):
    out = cube.copy()
    for k in range(1, width):
        out[k:] += cube[:-k]
    out /= width
    return out


def page(kiln, cube):
    top = cube[-60:]
    return {
        "kiln": kiln,
        "peak": float(top.max()),
        "spread": float(top.std(axis=(1, 2)).mean()),
        "soak": int((cube.mean(axis=(1, 2)) > 1200).sum()),
    }


class Morning:
    """What the analysts get when they come in."""

    def __init__(self, client):
        self.client = client
        self.cubes = {}
        self.pages = {}

    def load(self, firing):
        for kiln in KILNS:
            raw = self.client.submit(read_cube, kiln, firing, key=f"read_cube-{kiln}")
            self.cubes[kiln] = self.client.submit(smooth, raw, key=f"smooth-{kiln}")
            del raw

    def summarise(self, timeout):
        futures = [
            self.client.submit(page, k, c, key=f"page-{k}")
            for k, c in self.cubes.items()
        ]
        for future, result in as_completed(futures, with_results=True, timeout=timeout):
            self.pages[result["kiln"]] = result
            log.info(
                "%(kiln)s peak %(peak).1f spread %(spread).2f soak %(soak)d min", result
            )


def report(morning):
    missing = sorted(set(KILNS) - set(morning.pages))
    log.info(
        "pages: %d, without page: %s", len(morning.pages), ", ".join(missing) or "none"
    )


def main():
    dask.config.set(SETTINGS)
    firing = int(os.environ.get("FIRING", "311"))
    cluster = LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        memory_limit="330MB",
        dashboard_address=":0",
        worker_dashboard_address=None,
    )
    client = Client(cluster)
    morning = Morning(client)
    try:
        morning.load(firing)
        morning.summarise(timeout=22)
    finally:
        report(morning)
        client.close()
        cluster.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
