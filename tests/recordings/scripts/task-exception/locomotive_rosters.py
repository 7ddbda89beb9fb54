"""Put locomotives on tomorrow's freight rosters."""

import logging

from dask.distributed import Client, LocalCluster, as_completed

log = logging.getLogger("rosters")
FLEET = {
    "BR 185": (5600, 17),
    "BR 294": (1000, 22),
    "BR 232": (2200, 9),
    "BR 193": (6400, 14),
}


def free_locomotives(depot):
    return [
        (name, power)
        for name, (power, count) in FLEET.items()
        if (count + len(depot)) % 3
    ]


def trains(depot):
    loads = {
        "Maschen": [900, 2400, 4100],
        "Seelze": [600, 1800],
        "Seddin": [3000, 5200, 1200],
        "Gremberg": [800, 7100, 2000],
        "Halle": [1500, 700],
    }
    return [(f"{depot[:2].upper()}{n}", load) for n, load in enumerate(loads[depot])]


def strong_enough(locomotives, load):
    return (
        name
        for name, power in sorted(locomotives, key=lambda item: item[1])
        if power >= load
    )


def roster(depot):
    plan = {}
    for train, load in trains(depot):
        plan[train] = next(strong_enough(free_locomotives(depot), load))
    return depot, plan


class Dispatcher:
    def __init__(self, client):
        self.client = client
        self.plans = {}

    def plan(self, depots):
        futures = self.client.map(roster, depots, key=[f"roster-{d}" for d in depots])
        for future in as_completed(futures):
            depot, plan = future.result()
            log.info("%s: %d trains", depot, len(plan))
            self.plans[depot] = plan
        return self.plans


def main():
    logging.basicConfig(level=logging.INFO)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        plans = Dispatcher(client).plan(
            ["Maschen", "Seelze", "Seddin", "Gremberg", "Halle"]
        )
        for depot, plan in sorted(plans.items()):
            print(depot, plan)


if __name__ == "__main__":
    main()
