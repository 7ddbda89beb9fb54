"""Matches tern crossings of two sides; waits for the slow side and takes spare copies back."""

import asyncio
import logging
import time

import numpy as np
from dask.distributed import Client, LocalCluster

log = logging.getLogger("tern")


def side_counts(side, hours):
    total = np.zeros(24)
    for hour in range(hours):
        total[hour % 24] += np.random.default_rng(hour + len(side)).poisson(12)
        time.sleep(0.35)
    return total


def patient(future, every, rounds):
    for attempt in range(rounds):
        try:
            return future.result(timeout=every)
        except (TimeoutError, asyncio.TimeoutError) as exc:
            log.error(
                "still no answer from %s: %r (look %d)", future.key, exc, attempt + 1
            )
    raise SystemExit(f"{future.key} did not answer")


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        north = client.submit(side_counts, "north", 24, key="north")
        south = client.submit(side_counts, "south", 8, key="south")
        spares = client.map(side_counts, [f"spare{i}" for i in range(6)], [24] * 6)
        matched = patient(south, 2, 30) + patient(north, 2, 30)
        client.cancel(spares)
        states = {f.status for f in spares}
        log.warning("spare counts no longer wanted: %s", states)
        gone = list(client.scheduler_info()["workers"])[:1]
        client.retire_workers(workers=gone, close_workers=True)
        log.warning("worker %s given back", gone[0])
        peak = client.submit(np.argmax, matched).result(timeout=60)
    log.info("most crossings at %02d h, %d in all", peak, int(matched.sum()))


if __name__ == "__main__":
    main()
