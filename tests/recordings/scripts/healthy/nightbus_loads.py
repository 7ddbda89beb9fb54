"""Passenger loads of the night buses: the counters of every depot are asked over their (slow) line.

A depot has an access list of its own, so each is asked by a cluster of its own, one after another.  The counters are
slow to answer and need no computing, hence the many threads.
"""

import random
import time
from collections import Counter

from dask.distributed import Client, LocalCluster, as_completed

DEPOTS = {"Harbour": 40, "Hill": 56, "Market": 48, "Station": 64, "Zoo": 32}


def ask_counter(depot, bus):
    """Passengers of a bus in the night, by hour."""
    rng = random.Random(f"{depot}{bus}")
    time.sleep(0.4 + rng.random() * 0.2)
    return {hour: rng.randint(0, 35) for hour in range(0, 5)}


def ask_depot(depot, buses):
    loads = Counter()
    with LocalCluster(
        n_workers=2, threads_per_worker=12, memory_limit="300MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            futures = client.map(ask_counter, [depot] * buses, range(buses), pure=False)
            for future, load in as_completed(futures, with_results=True):
                loads.update(load)
    return loads


def main():
    network = Counter()
    for depot, buses in DEPOTS.items():
        loads = ask_depot(depot, buses)
        network.update(loads)
        print(f"{depot:<10}{buses:4} buses {sum(loads.values()):6} passengers")
    print("busiest hour", network.most_common(1)[0][0])


if __name__ == "__main__":
    main()
