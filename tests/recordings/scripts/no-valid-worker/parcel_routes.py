"""Delivery routes of a parcel service for the coming day.

Parcels of a depot stay where they were read (their tables are large in real life): every depot gets a home
among the workers, and the routes of the depot are planned there.  The evening has three parts: reading the
parcels, a quiet hour with one worker only, and the planning.
"""

import enum
import itertools
import logging
import random
import tempfile
import time
from dataclasses import dataclass, field

from dask.distributed import Client, LocalCluster, wait

log = logging.getLogger("routes")


class Part(enum.Enum):
    READING = "reading"
    QUIET = "quiet hour"
    PLANNING = "planning"


@dataclass
class Depot:
    name: str
    parcels: int
    home: str = ""
    stops: list = field(default_factory=list)


def read_parcels(name, count):
    rng = random.Random(name)
    time.sleep(0.1)
    return [(rng.uniform(0, 40), rng.uniform(0, 40)) for _ in range(count)]


def gate_report(depots):
    """The gate's figures come late now and then, the second call has them."""
    import os

    if not os.path.exists(f"{depots}.gate"):
        open(f"{depots}.gate", "w").close()
        raise ConnectionError("gate: figures not yet there")
    return "gate figures read"


def plan_route(name, stops):
    left, here, tour = list(stops), (0.0, 0.0), 0.0
    while left:
        nearest = min(left, key=lambda p: (p[0] - here[0]) ** 2 + (p[1] - here[1]) ** 2)
        tour += ((nearest[0] - here[0]) ** 2 + (nearest[1] - here[1]) ** 2) ** 0.5
        left.remove(nearest)
        here = nearest
    return name, round(tour, 1)


class Evening:
    def __init__(self, client, cluster, depots, patience):
        self.client, self.cluster, self.depots, self.patience = (
            client,
            cluster,
            depots,
            patience,
        )
        self.part = None

    def begin(self, part):
        self.part = part
        log.info(
            "%s, workers: %s", part.value, ", ".join(sorted(self.client.nthreads()))
        )

    def read(self, mark):
        self.begin(Part.READING)
        homes = itertools.cycle(sorted(self.client.nthreads()))
        for depot in self.depots:
            depot.home = next(homes)
        futures = [
            self.client.submit(
                read_parcels,
                d.name,
                d.parcels,
                key=f"read_parcels-{d.name}",
                workers=[d.home],
            )
            for d in self.depots
        ]
        log.info(self.client.submit(gate_report, mark, retries=2).result())
        for depot, stops in zip(self.depots, self.client.gather(futures)):
            depot.stops = stops

    def quiet(self):
        self.begin(Part.QUIET)
        self.cluster.scale(1)
        while len(self.client.nthreads()) > 1:
            time.sleep(0.1)
        time.sleep(1.0)
        self.cluster.scale(2)
        self.client.wait_for_workers(2, timeout=30)

    def plan(self):
        self.begin(Part.PLANNING)
        futures = [
            self.client.submit(
                plan_route,
                d.name,
                d.stops,
                key=f"plan_route-{d.name}",
                workers=[d.home],
            )
            for d in self.depots
        ]
        done, _ = wait(futures, timeout=self.patience)
        return self.client.gather(list(done))


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    names = ["Ahlen", "Beckum", "Coesfeld", "Dülmen", "Ennigerloh", "Freckenhorst"]
    depots = [Depot(name, 60 + 10 * i) for i, name in enumerate(names)]
    with tempfile.TemporaryDirectory() as folder:
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="350MB",
                dashboard_address=None,
                local_directory=folder,
            ) as cluster,
            Client(cluster) as client,
        ):
            evening = Evening(client, cluster, depots, patience=12)
            evening.read(f"{folder}/evening")
            evening.quiet()
            for name, length in evening.plan():
                print(f"{name}: {length} km")


if __name__ == "__main__":
    main()
