"""Classify grassland tiles by the share of tussocks; neighbouring tiles share their decoded pixels on the worker."""

import argparse
import logging
import sys
import tempfile
import time

import dask
import numpy as np
from distributed import Client, LocalCluster, get_worker, wait

log = logging.getLogger("tussock")


def decode_tile(number, side=1024):
    rng = np.random.default_rng(number)
    return rng.random((side, side)) + (number % 9) * 0.03


def pixels_of(number):
    """Pixels of a tile; the worker keeps them, as the neighbours need its border."""
    worker = get_worker()
    if not hasattr(worker, "tile_pixels"):
        worker.tile_pixels = {}
    if number not in worker.tile_pixels:
        worker.tile_pixels[number] = decode_tile(number)
    return worker.tile_pixels[number]


def classify_tile(number, columns):
    pixels = pixels_of(number)
    time.sleep(0.15)
    share = float((pixels > 0.8).mean())
    if number % columns:
        border = pixels_of(number - 1)[:, -8:]
        share = 0.95 * share + 0.05 * float((border > 0.8).mean())
    return number, share


def calibrate(client):
    samples = client.map(
        lambda n: float(np.random.default_rng(n).random(1000).mean()), range(20)
    )
    return float(np.mean(client.gather(samples)))


def classify_all(client, tiles, columns, patience):
    futures = client.map(classify_tile, range(tiles), columns=columns)
    started = time.monotonic()
    try:
        wait(futures, timeout=patience)
    except TimeoutError:
        ready = sum(f.done() for f in futures)
        log.error(
            "%d of %d tiles after %.0f s, give up",
            ready,
            tiles,
            time.monotonic() - started,
        )
        return None
    return dict(client.gather(futures))


def report(shares, columns):
    for row in range(len(shares) // columns):
        line = [shares[row * columns + c] for c in range(columns)]
        log.info("row %d: %s", row, " ".join(f"{s:.2f}" for s in line))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiles", type=int, default=80)
    parser.add_argument("--columns", type=int, default=8)
    parser.add_argument("--patience", type=float, default=28)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    # small nodes without a disk worth spilling to
    dask.config.set(
        {
            "distributed.worker.memory.target": False,
            "distributed.worker.memory.spill": False,
            "distributed.worker.memory.pause": 0.7,
            "distributed.worker.memory.terminate": 0.95,
        }
    )

    with tempfile.TemporaryDirectory(prefix="tussock-") as scratch:
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="260MB",
                dashboard_address=":0",
                local_directory=scratch,
            ) as cluster,
            Client(cluster) as client,
        ):
            log.info("calibration %.3f", calibrate(client))
            shares = classify_all(client, args.tiles, args.columns, args.patience)
        if shares is None:
            sys.exit(3)
        report(shares, args.columns)


if __name__ == "__main__":
    main()
