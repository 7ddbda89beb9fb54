"""Optimal weights of the seismometers of each array, from the noise of a quiet night (dask.array)."""

import argparse
import logging
import sys

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

log = logging.getLogger("tremor")
ARRAYS = ["Alta", "Borg", "Cima", "Dalen", "Eifel", "Fjell"]
SENSORS = 12


def record(block_info=None, samples=0):
    """Noise of one array: a common swell and what each instrument adds."""
    number = block_info[None]["chunk-location"][1]
    rng = np.random.default_rng(number)
    swell = np.sin(np.arange(samples) / 55 + number)[:, None]
    noise = 0.6 * swell + rng.normal(0, 1, (samples, SENSORS)) * rng.uniform(
        0.5, 2, SENSORS
    )
    if ARRAYS[number] == "Dalen":
        noise[:, 7] = 0.0
    return noise.astype("f8")


def detrend(block):
    return block - block.mean(axis=0)


def taper(block):
    window = np.hanning(block.shape[0])[:, None]
    return block * window


def weights(block):
    """Capon weights: inverse of the covariance times ones, normalised."""
    covariance = block.T @ block / block.shape[0]
    inverse = np.linalg.inv(covariance)
    raw = inverse @ np.ones(block.shape[1])
    return (raw / raw.sum())[None, :]


def quiet_night(samples):
    chunks = ((samples,), (SENSORS,) * len(ARRAYS))
    return da.map_blocks(
        record, samples=samples, chunks=chunks, dtype="f8", meta=np.empty((0, 0))
    )


def noise_report(night):
    levels = night.std(axis=0).compute().reshape(len(ARRAYS), SENSORS)
    for name, level in zip(ARRAYS, levels):
        log.info("%-6s noise %.3f to %.3f", name, level.min(), level.max())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=40_000)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="320MiB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster),
    ):
        night = quiet_night(args.samples)
        noise_report(night)
        clean = night.map_blocks(detrend, dtype="f8").map_blocks(taper, dtype="f8")
        table = clean.map_blocks(weights, chunks=((1,), night.chunks[1]), dtype="f8")
        best = table.compute().reshape(len(ARRAYS), SENSORS)
        for name, row in zip(ARRAYS, best):
            log.info("%-6s heaviest sensor %d with %.3f", name, row.argmax(), row.max())
    return 0


if __name__ == "__main__":
    sys.exit(main())
