# Routes of the snow ploughs: grown out of a notebook, runs every evening in winter.
import itertools
import random

import dask
from dask.distributed import Client, LocalCluster

random.seed(4)
DEPOTS = {"Bruck": (0.0, 0.0), "Mürz": (18.5, 7.0), "Enns": (-9.0, 22.0)}
STREETS = [
    {
        "id": f"L{n:03d}",
        "x": random.uniform(-30, 30),
        "y": random.uniform(-30, 30),
        "km": random.uniform(0.8, 9.0),
        "prio": random.choice("AAB"),
    }
    for n in range(90)
]


def dist(a, b):
    return ((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) ** 0.5


def nearest_depot(street):
    return min(DEPOTS, key=lambda d: dist(DEPOTS[d], (street["x"], street["y"])))


@dask.delayed
def greedy_route(depot, streets):
    here, route, km = DEPOTS[depot], [], 0.0
    left = list(streets)
    while left:
        left.sort(key=lambda s: (s["prio"], dist(here, (s["x"], s["y"]))))
        street = left.pop(0)
        km += dist(here, (street["x"], street["y"])) + street["km"]
        here = (street["x"], street["y"])
        route.append(street["id"])
    return depot, route, km


@dask.delayed
def improve(found):
    depot, route, km = found
    where = {s["id"]: (s["x"], s["y"]) for s in STREETS}
    for i, j in itertools.combinations(range(1, len(route) - 1), 2):
        a, b = where[route[i - 1]], where[route[j + 1]]
        gain = (
            dist(a, where[route[i]])
            + dist(where[route[j]], b)
            - dist(a, where[route[j]])
            - dist(where[route[i]], b)
        )
        if gain > 1e-9:
            route[i : j + 1] = reversed(route[i : j + 1])
            km -= gain
    return depot, route, km


cluster = LocalCluster(
    n_workers=1, threads_per_worker=1, memory_limit="700MB", dashboard_address=":0"
)
client = Client(cluster)

groups = {depot: [s for s in STREETS if nearest_depot(s) == depot] for depot in DEPOTS}
plans = [
    improve(greedy_route(depot, streets))
    for depot, streets in groups.items()
    if streets
]
for depot, route, km in dask.compute(*plans):
    print(f"{depot:6s} {km:7.1f} km  {' '.join(route[:8])} ...")

client.close()
cluster.close()
