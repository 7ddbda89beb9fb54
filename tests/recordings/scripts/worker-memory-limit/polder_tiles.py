"""Height tiles of the polders, from the strips of last night's flight.

Two clusters, as on the real machines: a lean one decodes the strips one after
the other, a second one stitches the tiles. They only share a folder.
"""

import argparse
import logging
import tempfile
import time
from pathlib import Path

import dask
import numpy as np
from distributed import Client, LocalCluster, as_completed

log = logging.getLogger("polder")

# strip -> (length in metres, ground resolution in centimetres)
FLIGHT = {
    1: (1200, 25),
    2: (1150, 25),
    3: (1300, 25),
    4: (1250, 25),
    5: (1200, 5),
    6: (1180, 25),
    7: (1220, 25),
    8: (1210, 25),
}
SWATH = 80  # metres
TILE_ROWS = {"A": (1, 2, 3), "B": (3, 4, 5), "C": (5, 6), "D": (6, 7, 8)}


def strip_path(folder, number):
    return Path(folder) / f"strip_{number:02d}.npy"


def decode_strip(number, length, resolution, folder):
    """Decode the strip block by block and save it at 1 m."""
    per_metre = 100 // resolution
    blocks = []
    for start in range(0, length, 50):
        cells = (50 * per_metre, SWATH * per_metre)
        blocks.append(np.full(cells, -1.5 + start / 1000))
        time.sleep(0.08)
    heights = np.concatenate([b[::per_metre, ::per_metre] for b in blocks])
    np.save(strip_path(folder, number), heights.astype("f4"))
    return number, heights.shape


def decode_all(folder, limit):
    decoded = []
    with LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        memory_limit=limit,
        local_directory=folder,
        dashboard_address="127.0.0.1:0",
        name="decode",
    ) as cluster:
        with Client(cluster) as client:
            futures = {
                client.submit(decode_strip, number, length, res, str(folder)): number
                for number, (length, res) in FLIGHT.items()
            }
            for future in as_completed(futures):
                if future.status != "finished":
                    log.warning("strip %d: %s", futures[future], future.status)
                    continue
                decoded.append(future.result()[0])
    return sorted(decoded)


def stitch(tile, numbers, folder):
    strips = [np.load(strip_path(folder, n)) for n in numbers]
    rows = min(s.shape[0] for s in strips)
    mosaic = np.mean([s[:rows] for s in strips], axis=0)
    time.sleep(1.0)
    return {"tile": tile, "mean": float(mosaic.mean()), "rows": rows}


def stitch_all(folder):
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        memory_limit="250MB",
        local_directory=folder,
        dashboard_address="127.0.0.1:0",
        name="stitch",
    ) as cluster:
        with Client(cluster) as client:
            futures = [
                client.submit(stitch, t, n, str(folder)) for t, n in TILE_ROWS.items()
            ]
            return client.gather(futures)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--decode-memory", default="300MB")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    dask.config.set({"distributed.scheduler.allowed-failures": 1})

    with tempfile.TemporaryDirectory(prefix="polder-") as folder:
        decoded = decode_all(folder, args.decode_memory)
        log.info("decoded strips: %s", decoded)
        tiles = stitch_all(folder)
    for tile in tiles:
        log.info("tile %(tile)s: mean %(mean).2f m over %(rows)d rows", tile)


if __name__ == "__main__":
    main()
