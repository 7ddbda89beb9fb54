"""Elevation statistics of the Dolomites: tiles in memory, a census actor, a risky codec.

The tiles of the night fill the memory of the big worker on purpose (the rest goes to
disk), a third-party codec is tried on a cluster of its own first.
"""

import argparse
import logging
import os
import sys
import time

import numpy as np
from dask.distributed import Client, KilledWorker, LocalCluster, wait

log = logging.getLogger("dolomite")


class Census:
    """Running height histogram over all tiles."""

    def __init__(self, bins):
        self.counts = np.zeros(bins, dtype="i8")

    def add(self, counts):
        self.counts += counts
        return int(self.counts.sum())

    def total(self):
        return self.counts


def make_tile(number, megabytes):
    time.sleep(0.2)
    rng = np.random.default_rng(number)
    return rng.random(megabytes * 125_000) * 3300


def histogram(tile, bins):
    return np.histogram(tile, bins=bins, range=(0, 3300))[0]


def decode_vendor(path):
    """The vendor's decoder ends the process on input which it does not like."""
    if path.endswith(".lz9"):
        os._exit(3)
    return path


def whole_range(megabytes):
    """All tiles as one array, where the machine has the room for it."""
    if megabytes > 1000:
        raise MemoryError(f"{megabytes} MB are more than this worker may take")
    return megabytes


def try_codec(paths):
    """Is the vendor's codec safe tonight? On its own cluster, it may take it down."""
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            memory_limit="250MB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        futures = client.map(decode_vendor, paths)
        good = []
        for path, future in zip(paths, futures):
            try:
                good.append(future.result(timeout=120))
            except KilledWorker as error:
                log.error("codec is not safe for %s: %s", path, error)
        return good


def statistics(client, tiles, megabytes, bins):
    census = client.submit(Census, bins, actor=True).result()
    held = client.map(make_tile, range(tiles), megabytes=megabytes)
    wait(held)
    log.info("%d tiles of %d MB are with the workers", tiles, megabytes)
    seen = 0
    for future in client.map(histogram, held, bins=bins):
        seen = census.add(future.result()).result()
    log.info("census of %d points", seen)
    return census.total().result(), held


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--tiles", type=int, default=14)
    ap.add_argument("--megabytes", type=int, default=10)
    args = ap.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    good = try_codec(["a.tif", "b.lz9", "c.tif"])
    log.info("codec reads %d of 3 samples, going on with the old one", len(good))
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            memory_limit="280MB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        total, held = statistics(client, args.tiles, args.megabytes, bins=64)
        log.info("highest bin %d", int(np.argmax(total)))
        del held
        whole = client.submit(whole_range, 1400)
        if whole.exception() is not None:
            log.warning("no picture of the whole range: %s", whole.exception())
        cluster.scale(2)
        client.wait_for_workers(2, timeout=90)
        old = min(
            client.scheduler_info()["workers"].values(), key=lambda w: int(w["name"])
        )["name"]
        client.retire_workers(names=[old])
        log.info("worker %s retired, %d left", old, len(client.nthreads()))
        means = client.gather(client.map(lambda n: n * 2, list(range(8))))
        log.info("check sum %d", sum(means))
    return 0


if __name__ == "__main__":
    sys.exit(main())
