"""Taxi fares: hold the month's trips in memory, then price every zone."""

import dask
import numpy as np
from dask.distributed import Client, LocalCluster, wait

dask.config.set(
    {
        "distributed.worker.memory.target": False,
        "distributed.worker.memory.spill": False,
        "distributed.worker.memory.pause": 0.7,
        "distributed.worker.memory.terminate": False,
    }
)


def trips(day):
    rng = np.random.default_rng(day)
    return rng.gamma(2.0, 4.0, size=1_900_000)


def fare(day_trips, zone):
    return zone, float(2.5 + 1.8 * day_trips[zone::200].mean())


def main():
    with LocalCluster(
        n_workers=1, threads_per_worker=1, memory_limit="450MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            month = client.map(trips, range(31))
            done, open_days = wait(month[:5])
            print("first days are loaded:", len(done))
            fares = [
                client.submit(fare, day, zone) for day in month for zone in range(3)
            ]
            wait(fares, timeout=15)
            print("mean fare", np.mean([f for _, f in client.gather(fares)]))


if __name__ == "__main__":
    main()
