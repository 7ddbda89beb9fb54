"""Blend side-scan strips of a survey into one profile; each strip stays on the worker whose disk has it."""

import logging
import mmap
import os
import sys
import tempfile

import numpy as np
from dask.distributed import Client, LocalCluster, wait

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
)
log = logging.getLogger("strips")

PINGS, SAMPLES = 300, 256


class Strip:
    """Samples of one strip, mapped from its file."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as handle:
            self.raw = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ)

    def pings(self):
        return np.frombuffer(self.raw, dtype="uint16").reshape(PINGS, SAMPLES)

    def __sizeof__(self):
        return len(self.raw)


def record_strip(folder, number):
    rng = np.random.default_rng(number)
    data = rng.poisson(300 + 20 * number, (PINGS, SAMPLES)).astype("uint16")
    path = os.path.join(folder, f"strip-{number:02d}.raw")
    data.tofile(path)
    return path


def open_strip(path):
    return Strip(path)


def gain(strip):
    return float(1000.0 / strip.pings().mean())


def blend(left, right, left_gain, right_gain):
    """Overlap of two neighbouring strips."""
    a = left.pings()[:, -64:] * left_gain
    b = right.pings()[:, :64] * right_gain
    weight = np.linspace(0, 1, 64)
    return (a * (1 - weight) + b * weight).mean(axis=1)


def profile(seams):
    return np.stack(seams).mean(axis=0)


def main(count=8):
    with tempfile.TemporaryDirectory(prefix="strips-") as folder:
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="300MiB",
                dashboard_address=":0",
            ) as cluster,
            Client(cluster) as client,
        ):
            paths = [record_strip(folder, n) for n in range(count)]
            places = sorted(client.scheduler_info()["workers"])
            half = count // 2
            strips = [
                client.submit(
                    open_strip,
                    path,
                    key=f"open_strip-{n}",
                    pure=False,
                    workers=[places[n // half]],
                )
                for n, path in enumerate(paths)
            ]
            gains = [
                client.submit(gain, s, key=f"gain-{n}") for n, s in enumerate(strips)
            ]
            wait(gains)
            log.info("gains: %s", [round(g, 2) for g in client.gather(gains)])

            seams = [
                client.submit(
                    blend,
                    strips[n],
                    strips[n + 1],
                    gains[n],
                    gains[n + 1],
                    key=f"blend-{n}",
                )
                for n in range(count - 1)
            ]
            log.info("blending %d seams", len(seams))
            depth = client.submit(profile, seams, key="profile").result(timeout=30)
            log.info("profile of %d pings, mean %.1f", len(depth), depth.mean())
    return 0


if __name__ == "__main__":
    sys.exit(main())
