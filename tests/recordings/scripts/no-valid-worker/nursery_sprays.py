"""Spray calendar of the orchards.

For each orchard the infection risk is computed from the hourly weather; the
canopy images of those at risk are then segmented.  Segmentation uses a
licensed library: only as many may run at once as seats were bought, so those
tasks ask for a seat.
"""

import logging
import sys
import time

import numpy as np
from dask.distributed import Client, LocalCluster, wait

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
log = logging.getLogger("sprays")

ORCHARDS = ["hilltop", "riverside", "north_field", "old_mill", "vicarage", "long_lane"]
PATIENCE = 12


class SprayCalendar:
    def __init__(self, client):
        self.client = client
        self.at_risk = []

    def risks(self):
        futures = self.client.map(infection_risk, ORCHARDS)
        for name, risk in zip(ORCHARDS, self.client.gather(futures)):
            log.info("%-12s risk %.2f", name, risk)
            if risk > 0.3:
                self.at_risk.append(name)

    def canopies(self):
        return [
            self.client.submit(segment_canopy, name, resources={"seat": 1}, retries=2)
            for name in self.at_risk
        ]

    def fallbacks(self):
        return [self.client.submit(leaf_index, name) for name in self.at_risk]


def infection_risk(name):
    rng = np.random.default_rng(len(name))
    wet = rng.random(24 * 30) > 0.4
    temp = rng.normal(14, 4, 24 * 30)
    time.sleep(0.2)
    return float(np.mean(wet & (temp > 8)))


def leaf_index(name):
    rng = np.random.default_rng(len(name) + 1)
    return float(rng.random((200, 200)).mean())


def segment_canopy(name):
    rng = np.random.default_rng(len(name) + 2)
    image = rng.random((400, 400))
    return int((image > 0.7).sum())


def seats_for(host):
    """Seats of a worker, by the table of the licence desk."""
    return {"spray-box": {"seats": 2}, "spray-spare": {"seats": 1}}.get(
        host, {"seats": 1}
    )


def main():
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            memory_limit="400MB",
            resources=seats_for("spray-box"),
        ) as cluster,
        Client(cluster) as client,
    ):
        calendar = SprayCalendar(client)
        calendar.risks()
        images = calendar.canopies()
        indexes = calendar.fallbacks()
        log.info("%d orchards at risk, waiting for their canopies", len(images))
        try:
            wait(images + indexes, timeout=PATIENCE)
        except TimeoutError:
            late = [n for n, f in zip(calendar.at_risk, images) if not f.done()]
            log.error("segmentation too slow: %s", ", ".join(late))
            client.cancel(images)
            sys.exit("spray calendar not ready in time")
        for name, pixels in zip(calendar.at_risk, client.gather(images)):
            log.info("%s: %d pixels of leaf", name, pixels)


if __name__ == "__main__":
    main()
