"""Firefly counts: flashes per meadow and night, counted from camera strips on a pool that grows and shrinks."""

import logging
import os
import random
import time

import dask
import numpy as np
from dask.distributed import Client, LocalCluster, wait

logging.basicConfig(level=logging.INFO, format="%(name)s %(message)s")
log = logging.getLogger("fireflies")


class CameraBusy(ConnectionError):
    pass


def read_strip(meadow, night, folder):
    """Cameras answer one request at a time; the first one of a meadow is often turned away."""
    mark = os.path.join(folder, f"{meadow}-{night}")
    if night == 0 and not os.path.exists(mark):
        open(mark, "w").close()
        raise CameraBusy(f"camera of meadow {meadow} is busy")
    rng = np.random.default_rng(meadow * 31 + night)
    time.sleep(0.2)
    return rng.poisson(3.0, (200, 240)).astype("int16")


def count_flashes(strip):
    time.sleep(0.1)
    return int((strip > 8).sum())


def season(counts):
    return {"flashes": sum(counts), "best": max(counts)}


def batch(client, meadows, nights, folder):
    rows = {}
    for meadow in meadows:
        strips = [
            client.submit(read_strip, meadow, night, folder, retries=3)
            for night in range(nights)
        ]
        counts = client.map(count_flashes, strips)
        rows[meadow] = client.submit(season, counts)
    wait(list(rows.values()), timeout=60)
    return {meadow: future.result() for meadow, future in rows.items()}


def main():
    os.makedirs("marks", exist_ok=True)
    random.seed(3)
    with dask.config.set(
        {"distributed.adaptive.interval": "300ms", "distributed.adaptive.wait-count": 3}
    ):
        with LocalCluster(
            n_workers=0,
            threads_per_worker=1,
            memory_limit="300MB",
            dashboard_address=None,
        ) as cluster:
            cluster.adapt(minimum=1, maximum=3)
            with Client(cluster) as client:
                evening = batch(client, range(4), 8, "marks")
                log.info("evening: %d workers now", len(cluster.scheduler.workers))
                deadline = time.monotonic() + 10
                while (
                    len(cluster.scheduler.workers) > 1 and time.monotonic() < deadline
                ):
                    time.sleep(0.3)
                log.info("pause: %d workers now", len(cluster.scheduler.workers))
                late = batch(client, range(4, 8), 8, "marks")
                log.info("late: %d workers now", len(cluster.scheduler.workers))
    for meadow, row in {**evening, **late}.items():
        print(f"meadow {meadow}: {row['flashes']} flashes, best night {row['best']}")


if __name__ == "__main__":
    main()
