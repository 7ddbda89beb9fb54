"""Bathymetry grids: sea floor soundings of one survey become depth grids and a chart of shoals.

Three steps on one cluster: the tide table is placed on the workers, swaths are gridded (a swath that fails is left
out and surveyed again next week), and the grids are brought to chart datum with the tide table.
"""

import logging
import os
import sys
import time

os.environ["DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES"] = "0"

import numpy as np
from distributed import Client, KilledWorker, LocalCluster, wait

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
log = logging.getLogger("bathymetry")

SWATHS = {
    "inner-bay": (900, 2.0),
    "fairway": (1100, 2.0),
    "anchorage": (1000, 2.0),
    "outer-bank": (1200, 0.25),
}


def load_tides(days):
    rng = np.random.default_rng(3)
    return np.cumsum(rng.normal(0, 0.01, size=days * 24 * 60))


def grid_swath(name, width_m, cell_m):
    """Depth of every cell; the layers of a finer grid are kept for the uncertainty."""
    rng = np.random.default_rng(len(name))
    cells = int(width_m / cell_m)
    layers = []
    for beam in range(12):
        layer = rng.random((cells, cells), dtype=np.float32)
        layers.append(layer)
        time.sleep(0.1)
    stack = np.stack(layers)
    return np.median(stack, axis=0)


def to_datum(grid, tides):
    time.sleep(0.1)
    return grid - np.float32(tides.mean())


def shoals(grid):
    return int((grid < 0.05).sum())


class Survey:
    def __init__(self, client):
        self.client = client
        self.left_out = []

    def place_tides(self):
        address = sorted(self.client.scheduler_info(n_workers=-1)["workers"])[0]
        log.info("tide table goes to %s", address)
        self.tides = self.client.scatter(load_tides(40), workers=[address])
        self.home = address

    def grid(self):
        futures = {
            name: self.client.submit(
                grid_swath,
                name,
                *size,
                key=f"grid-{name}",
                workers=[self.home],
                allow_other_workers=False,
            )
            if name == "outer-bank"
            else self.client.submit(grid_swath, name, *size, key=f"grid-{name}")
            for name, size in SWATHS.items()
        }
        wait(list(futures.values()))
        for name, future in list(futures.items()):
            try:
                future.result()
            except KilledWorker:
                log.warning("swath %s left out, to be surveyed again", name)
                self.left_out.append(name)
                del futures[name]
        return futures

    def chart(self, grids):
        levelled = {
            name: self.client.submit(to_datum, grid, self.tides, key=f"datum-{name}")
            for name, grid in grids.items()
        }
        counts = {
            name: self.client.submit(shoals, grid, key=f"shoals-{name}")
            for name, grid in levelled.items()
        }
        return self.client.gather(counts)


def main():
    cluster = LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        memory_limit="350MB",
        dashboard_address=None,
        processes=True,
    )
    client = Client(cluster)
    try:
        survey = Survey(client)
        survey.place_tides()
        grids = survey.grid()
        log.info("%d swaths gridded, %d left out", len(grids), len(survey.left_out))
        for name, count in survey.chart(grids).items():
            print(f"{name}: {count} shoal cells")
    finally:
        client.close()
        cluster.close()


if __name__ == "__main__":
    sys.exit(main())
