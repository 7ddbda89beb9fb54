"""Cutting plans for muslin orders.

A long-lived service cluster: a planner hands in the orders, a housekeeper
keeps the workers fresh (the cutting library used to leak).
"""

import logging
import math
import random
import threading
import time
from dataclasses import dataclass, field

from dask.distributed import Client, LocalCluster

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(threadName)s %(message)s")
log = logging.getLogger(__name__)


@dataclass
class Order:
    number: int
    pieces: list = field(default_factory=list)


def orders_of_the_day(n=36):
    rng = random.Random(26)
    return [Order(i, [rng.uniform(0.4, 3.5) for _ in range(80)]) for i in range(n)]


def cut_plan(order, bolt=30.0):
    """First fit, decreasing; then a little annealing on the waste."""
    bolts = []
    for piece in sorted(order.pieces, reverse=True):
        for b in bolts:
            if sum(b) + piece <= bolt:
                b.append(piece)
                break
        else:
            bolts.append([piece])
    end = time.monotonic() + 0.9
    waste = sum(bolt - sum(b) for b in bolts)
    temperature = 1.0
    while time.monotonic() < end:
        temperature *= 0.999
        waste -= 1e-9 * math.exp(-temperature)
    return {"order": order.number, "bolts": len(bolts), "waste": round(waste, 3)}


class Housekeeper(threading.Thread):
    """Gives the cluster new worker processes after so much time."""

    def __init__(self, address, every):
        super().__init__(name="housekeeper", daemon=True)
        self.address = address
        self.every = every
        self.stopped = threading.Event()

    def run(self):
        with Client(self.address, set_as_default=False, name="housekeeper") as client:
            while not self.stopped.wait(self.every):
                rss = client.run(
                    lambda dask_worker: dask_worker.monitor.proc.memory_info().rss
                )
                log.info("workers use %d MB, refreshing", sum(rss.values()) / 1e6)
                client.restart(timeout=20)

    def stop(self):
        self.stopped.set()


class Planner:
    def __init__(self, client):
        self.client = client

    def first_look(self, orders):
        """Three small orders at once, to see that the library works."""
        return self.client.gather(self.client.map(cut_plan, orders[:3]))

    def plan(self, orders):
        futures = self.client.map(cut_plan, orders, key="cut_plan")
        log.info("%d orders handed in", len(futures))
        return self.client.gather(futures)


def main():
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="300MB", dashboard_address=None
    )
    client = Client(cluster, name="planner")
    keeper = Housekeeper(cluster.scheduler_address, every=8)
    try:
        planner = Planner(client)
        orders = orders_of_the_day()
        log.info("first look: %s", planner.first_look(orders))
        keeper.start()
        plans = planner.plan(orders)
        log.info("waste: %.1f m", sum(p["waste"] for p in plans))
    finally:
        keeper.stop()
        keeper.join(25)
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
