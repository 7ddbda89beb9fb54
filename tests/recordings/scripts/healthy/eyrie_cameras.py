"""Eyrie cameras: how often do eagles feed? Activity per hour from nest cameras.

The cluster grows and shrinks with the work: most nests are quick, and the
frame server refuses a request now and then.
"""

import collections
import random
import time

import dask
import numpy as np
from dask import delayed
from distributed import Client, LocalCluster

NESTS = [f"nest{n:02d}" for n in range(8)]
HOURS = range(5, 21)


class FrameServerBusy(Exception):
    pass


class Camera:
    """One nest. Frames come over the network, so this mostly waits."""

    def __init__(self, nest, seed):
        self.nest = nest
        self.number = int(nest[4:])
        self.seed = seed

    def fetch_hour(self, hour):
        time.sleep(0.25)
        if random.random() < 0.05:
            raise FrameServerBusy(f"503 for {self.nest} at {hour}:00")
        rng = np.random.default_rng([self.seed, self.number, hour])
        return rng.poisson(3 + 2 * (hour in (6, 7, 18)), size=(60, 32, 32)).astype("u1")

    def __dask_tokenize__(self):
        return type(self).__name__, self.nest, self.seed


@delayed
def feedings(frames, threshold):
    change = np.abs(np.diff(frames.astype("i2"), axis=0)).mean(axis=(1, 2))
    return int((change > threshold).sum())


@delayed
def nest_day(hours, counts):
    return dict(zip(hours, counts))


def observe(nest, seed, threshold):
    camera = Camera(nest, seed)
    fetch = delayed(camera.fetch_hour, pure=True)
    counts = [feedings(fetch(hour), threshold) for hour in HOURS]
    return nest_day(list(HOURS), counts)


def report(days):
    per_hour = collections.Counter()
    for day in days:
        per_hour.update(day)
    busiest, count = per_hour.most_common(1)[0]
    print(f"{len(days)} nests; busiest at {busiest}:00 with {count} feedings")


def main():
    dask.config.set(
        {"distributed.adaptive.interval": "500ms", "distributed.adaptive.wait-count": 2}
    )
    with LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        memory_limit="350MB",
        host="127.0.0.1",
        dashboard_address=None,
    ) as cluster:
        cluster.adapt(minimum=1, maximum=3, target_duration="4s")
        with Client(cluster) as client:
            # Yesterday's nests first: the report needs them for comparison.
            for seed, nests in ((1127, NESTS[:2]), (1128, NESTS)):
                days = client.gather(
                    client.compute([observe(n, seed, 1.95) for n in nests], retries=8)
                )
                report(days)
                print("workers:", len(cluster.workers))
                time.sleep(3)


if __name__ == "__main__":
    main()
