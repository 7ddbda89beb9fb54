"""Roughness spectra of hill slopes, for the landslide warning map.

The elevation model comes in strips of rows.  A preview is made from every tenth point; the spectrum of the map
itself is taken with several tapers, and is wanted over the whole length of the valley.
"""

import logging
import os
import sys

import click
import dask
import dask.array as da
import numpy as np
from distributed import Client, KilledWorker, LocalCluster

log = logging.getLogger("slopes")


def strip(block_info=None, seed=3):
    where = block_info[None]
    first = where["array-location"][0][0]
    rows, columns = where["chunk-shape"]
    rng = np.random.default_rng(seed + first)
    base = 400 + 0.05 * (first + np.arange(rows))[:, None]
    return base + rng.normal(0, 2, size=(rows, columns))


def elevation(rows, columns, strips):
    step = rows // strips
    return da.map_blocks(
        strip, chunks=((step,) * strips, (columns,)), dtype="float64", name="elevation"
    )


def taper(length, order):
    x = np.linspace(0, 1, length)
    return np.sin(np.pi * (order + 1) * x) ** 2


def roughness(heights, tapers):
    """Mean power along the valley; one windowed copy of the heights for every taper."""
    if heights.size == 0:
        return np.zeros((1, 1))
    windowed = [
        heights * taper(len(heights), order)[:, None] for order in range(tapers)
    ]
    power = sum(np.abs(np.fft.rfft(w[:, ::50], axis=0)) ** 2 for w in windowed)
    return np.atleast_2d(power.mean(axis=1) / tapers)


def preview(heights):
    low, high = dask.compute(heights[::10, ::10].min(), heights[::10, ::10].max())
    return round(float(low)), round(float(high))


@click.command()
@click.option("--rows", default=4000)
@click.option("--columns", default=5000)
@click.option("--strips", default=16)
@click.option("--tapers", default=6)
@click.option("--memory", default="350MB", help="Memory of one worker.")
def main(rows, columns, strips, tapers, memory):
    logging.basicConfig(
        level=logging.INFO, format="%(levelname)s %(name)s: %(message)s"
    )
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    dask.config.set({"distributed.scheduler.allowed-failures": 1})
    heights = elevation(rows, columns, strips)

    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit=memory, dashboard_address=None
    ) as cluster:
        with Client(cluster):
            low, high = preview(heights)
            log.info(
                "valley from %d m to %d m, %d strips of %.0f MB",
                low,
                high,
                strips,
                heights.blocks[0].nbytes / 1e6,
            )
            valley = heights.rechunk({0: -1, 1: -1})
            spectrum = valley.map_blocks(
                roughness,
                tapers=tapers,
                dtype="float64",
                chunks=(1, rows // 2 + 1),
                name="roughness",
            )
            try:
                power = spectrum.compute()
            except KilledWorker as exc:
                log.error("no spectrum tonight: %s", exc)
                log.info("warning map falls back to the slope angles of last week")
                sys.exit(3)
    np.savetxt("spectrum.txt", power[0], fmt="%.3e")


if __name__ == "__main__":
    main()
