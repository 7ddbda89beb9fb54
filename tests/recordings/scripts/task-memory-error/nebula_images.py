"""Sharpens mosaics of a nebula and counts the bright pixels."""

import logging
import resource
import sys

import dask
import dask.array as da
import numpy as np
import psutil
from dask.distributed import Client, LocalCluster

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
)
log = logging.getLogger("nebula_images")

SIDE = 4200
TILE = 700
GUARD = 450 * 2**20


def guard_address_space():
    """The workers share the reduction host with the telescope control."""
    limit = psutil.Process().memory_info().vms + GUARD
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    return limit


def exposure(seed):
    tiles = da.random.default_rng(seed).poisson(
        40, size=(SIDE, SIDE), chunks=(TILE, TILE)
    )
    return tiles.astype("float64")


def background(frame):
    return frame - frame.mean()


def sharpen(mosaic, strength=0.4):
    spectrum = np.fft.fft2(mosaic)
    rows = np.fft.fftfreq(mosaic.shape[0])[:, None]
    columns = np.fft.fftfreq(mosaic.shape[1])[None, :]
    spectrum *= 1 + strength * (rows**2 + columns**2)
    return np.fft.ifft2(spectrum).real


def stars(image, level):
    return (image > level).sum()


def main():
    with LocalCluster(
        n_workers=1, threads_per_worker=1, memory_limit=0, dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            for worker, limit in client.run(guard_address_space).items():
                log.info("%s guarded at %d MiB", worker, limit // 2**20)
            mosaic = background(exposure(31)).rechunk((SIDE, SIDE))
            sharp = mosaic.map_blocks(sharpen, dtype="float64", name="sharpen-ngc7000")
            level = 35.0
            (number,) = dask.compute(stars(sharp, level), optimize_graph=True)
            log.info("%d bright pixels", number)
    return 0


if __name__ == "__main__":
    sys.exit(main())
