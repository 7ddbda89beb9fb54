"""Archive photos of walrus herds on a small machine: the tiles of a day don't fit in memory at once, and
one camera sends broken files."""

import argparse
import logging
import sys
import time
import warnings

import dask
import numpy as np
from dask.distributed import Client, LocalCluster, as_completed

log = logging.getLogger("walrus")

TILE = 1_000_000


class BrokenTile(ValueError):
    pass


def photo(number):
    """One tile of the herd; camera 7 has a loose cable."""
    if number % 16 == 7:
        raise BrokenTile(f"tile {number}: checksum differs, MemoryCard error 0x1f")
    rng = np.random.default_rng(number)
    time.sleep(0.05)
    return rng.integers(0, 255, TILE * 14, dtype="uint8")


def histogram(tile):
    counts = np.bincount(tile, minlength=256)
    if counts.max() > counts.min() * 1.02:
        warnings.warn("histogram is not flat", RuntimeWarning, stacklevel=1)
    return counts


def herd_size(counts):
    return int(counts[200:].sum() // 50_000)


def store_all(client, numbers):
    """Keep all tiles on the cluster until their histograms are made."""
    tiles = [client.submit(photo, n, key=f"photo-{n}") for n in numbers]
    good, broken = [], []
    for future in as_completed(tiles):
        if future.status == "error":
            log.error("%s", future.exception())
            broken.append(future.key)
        else:
            good.append(future)
    return good, broken


def measure(client, tiles):
    histograms = client.map(histogram, tiles, key="histogram")
    return client.gather(client.map(herd_size, histograms, key="herd_size"))


def memory_by_worker(client):
    info = client.scheduler_info()["workers"].values()
    return {str(w["name"]): f"{w['metrics']['memory'] / 2**20:.0f} MiB" for w in info}


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiles", type=int, default=32)
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )

    dask.config.set(
        {
            "distributed.worker.memory.target": 0.6,
            "distributed.worker.memory.spill": 0.72,
            "distributed.worker.memory.pause": 0.88,
            "distributed.worker.memory.terminate": False,
        }
    )
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            memory_limit="330MiB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        tiles, broken = store_all(client, range(args.tiles))
        log.warning("memory is short on purpose: %s", memory_by_worker(client))
        sizes = measure(client, tiles)
        del tiles
        time.sleep(1)
        log.info("afterwards: %s", memory_by_worker(client))
        if len(broken) > args.tiles // 8:
            log.critical("too many broken tiles: %d", len(broken))
            return 1
        log.info(
            "%d tiles archived, %d animals, %d broken tiles left out",
            len(sizes),
            sum(sizes),
            len(broken),
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
