"""Builds the nightly lunar mosaic from the strips of the orbiter's camera.

Step 1 calibrates every strip (cluster), step 2 waits for the ephemeris of the day from
the flight dynamics team, step 3 projects and blends the strips (cluster).
"""

import argparse
import logging
import os
import sys
import threading
import time

import numpy as np
from dask.distributed import Client, LocalCluster, get_worker, wait

log = logging.getLogger("lunar")


def raw_strip(number, lines, width):
    rng = np.random.default_rng(number)
    return rng.integers(0, 4096, size=(lines, width), dtype=np.uint16)


def calibrate_strip(number, lines, width):
    """Dark current and flat field; the calibrated strip goes to the fast local disk."""
    time.sleep(1.2)
    raw = raw_strip(number, lines, width).astype("f4")
    dark = np.median(raw, axis=0)
    calibrated = (raw - dark) / (raw.std(axis=0) + 1)
    folder = get_worker().local_directory
    path = os.path.join(folder, f"strip_{number:03d}.npy")
    np.save(path, calibrated)
    return path


def project_strip(path, ephemeris):
    """Map projection of one strip with the orbit of the day."""
    strip = np.load(path)
    shift = int(ephemeris["drift"] * 10)
    return np.roll(strip, shift, axis=1)[::4, ::4]


def blend(parts):
    return np.mean(np.stack(parts), axis=0)


class EphemerisFeed(threading.Thread):
    """Polls flight dynamics until today's orbit file has been released."""

    def __init__(self, delay):
        super().__init__(daemon=True)
        self.delay = delay
        self.ready = threading.Event()
        self.value = None

    def run(self):
        released = time.monotonic() + self.delay
        while time.monotonic() < released:
            time.sleep(0.5)
        self.value = {"orbit": 18211, "drift": 0.7}
        self.ready.set()

    def get(self):
        waited = 0
        while not self.ready.wait(4):
            waited += 4
            log.info("orbit file not released yet, waited %d s", waited)
        return self.value


def calibrate(client, strips, lines, width):
    numbers = list(range(strips))
    futures = client.map(calibrate_strip, numbers, lines=lines, width=width, pure=False)
    wait(futures)
    paths = client.gather(futures)
    log.info(
        "%d strips calibrated in %d folders",
        len(paths),
        len({os.path.dirname(p) for p in paths}),
    )
    return paths


def mosaic(client, paths, ephemeris):
    projected = client.map(project_strip, paths, ephemeris=ephemeris)
    picture = client.submit(blend, projected).result(timeout=60)
    log.info("mosaic %s, mean %.4f", picture.shape, picture.mean())
    return picture


def main(argv=None):
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--strips", type=int, default=12)
    ap.add_argument("--lines", type=int, default=512)
    ap.add_argument("--width", type=int, default=256)
    ap.add_argument(
        "--release", type=float, default=16, help="seconds to the orbit file"
    )
    args = ap.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s - %(message)s"
    )
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="300MB", dashboard_address=":0"
    )
    cluster.adapt(minimum=1, maximum=2, interval="1s", wait_count=3)
    client = Client(cluster)
    try:
        paths = calibrate(client, args.strips, args.lines, args.width)
        feed = EphemerisFeed(args.release)
        feed.start()
        ephemeris = feed.get()
        log.info("orbit %d released", ephemeris["orbit"])
        mosaic(client, paths, ephemeris)
    finally:
        client.close()
        cluster.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
