"""Mosaics of trial plots for a seed breeder.

A drone delivers strips of every plot.  A task corrects the strips of one plot and puts them together;
another follows the wind gauge of the field, and a third keeps the thumbnails for the portal.  All three
kinds share the workers, as none takes a whole core.
"""

import logging
import tempfile
import time
from dataclasses import dataclass

import dask
import numpy as np
from dask.distributed import Client, LocalCluster, wait

log = logging.getLogger("plots")


@dataclass(frozen=True)
class Plot:
    name: str
    strips: int
    width: int
    height: int


FIELD = [
    Plot("barley-01", 6, 900, 700),
    Plot("barley-02", 7, 900, 700),
    Plot("clover-01", 5, 1100, 800),
    Plot("maize-07", 68, 1400, 900),
    Plot("rye-02", 6, 900, 800),
    Plot("wheat-03", 5, 1000, 900),
    Plot("wheat-04", 6, 1000, 900),
]


def wind_gauge(mast, seconds):
    """Means of the wind at one mast, as long as the flight took."""
    rng = np.random.default_rng(mast)
    means = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        means.append(float(rng.weibull(2.0, 500).mean()))
        time.sleep(0.05)
    return mast, len(means), float(np.mean(means))


def thumbnail(name, size=160):
    rng = np.random.default_rng(len(name))
    large = rng.integers(0, 255, (size * 10, size * 10), dtype=np.uint8)
    time.sleep(1.0)
    return name, large[::10, ::10]


def correct(strip, seed):
    rng = np.random.default_rng(seed)
    gain = rng.uniform(0.95, 1.05)
    return (strip * np.float32(gain)).astype(np.float32)


def mosaic_plot(plot):
    strips = []
    for number in range(plot.strips):
        strip = np.full((plot.height, plot.width), number % 255, dtype=np.float32)
        strips.append(correct(strip, number))
        time.sleep(0.05)
    return plot.name, float(np.mean([strip.mean() for strip in strips]))


def fly(client):
    gauges = client.map(wind_gauge, range(4), seconds=13, key="wind_gauge", priority=10)
    mosaics = [
        client.submit(mosaic_plot, plot, key=f"mosaic_plot-{plot.name}")
        for plot in FIELD
    ]
    thumbs = [
        client.submit(thumbnail, plot.name, key=f"thumbnail-{plot.name}")
        for plot in FIELD
    ]
    wait(gauges + mosaics + thumbs)
    broken = [f for f in gauges + mosaics + thumbs if f.status == "error"]
    if broken:
        for future in broken:
            log.error("%s: %s", future.key, type(future.exception()).__name__)
        broken[0].result()
    return client.gather(mosaics)


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    dask.config.set(
        {
            "distributed.scheduler.allowed-failures": 0,
            "distributed.scheduler.work-stealing": False,
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=4,
                memory_limit="350MB",
                dashboard_address=None,
                local_directory=folder,
            ) as cluster,
            Client(cluster) as client,
        ):
            for name, mean in fly(client):
                print(f"{name:<10} {mean:7.2f}")


if __name__ == "__main__":
    main()
