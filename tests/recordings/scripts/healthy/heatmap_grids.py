"""Heat island grids of the city: the interpolation starts with a generous block and halves it until it fits."""

import logging

import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster

log = logging.getLogger("heat")
CELLS = 24_000


def interpolate(block, stations):
    """Distance of all the pairs of cells at once: quick, if the block fits."""
    pairs = np.ones((block, block, 4096), dtype="f8") if block > 40_000 else None
    xs = np.linspace(0, 1, min(block, 4000))
    weights = np.exp(-((xs[:, None] - stations[None, :]) ** 2) / 0.02)
    temperature = (weights * (18 + 6 * stations)).sum(axis=1) / weights.sum(axis=1)
    return float(temperature.mean()), pairs is None


def fitting_block(client, stations, block):
    while block >= 100:
        future = client.submit(interpolate, block, stations, key=f"interpolate-{block}")
        error = future.exception(timeout=20)
        if error is None:
            log.info("block of %d fits", block)
            return block, future.result()[0]
        if not isinstance(error, MemoryError):
            raise error
        log.warning(
            "block of %d does not fit (%s), halving",
            block,
            str(error).split(" for ")[0],
        )
        block //= 2
    raise SystemExit("no block size fits")


def grid_means(block):
    field = da.sin(da.linspace(0, 6, CELLS, chunks=block)) * 4 + 20
    return field.map_blocks(lambda b: b - b.min()).mean(), field.max()


def main():
    logging.basicConfig(level=logging.INFO)
    stations = np.linspace(0, 1, 40)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        block, mean = fitting_block(client, stations, 1 << 18)
        spread, hottest = da.compute(*grid_means(block))
        print(
            f"mean {mean:.2f}, spread {spread:.2f}, hottest {hottest:.2f}, block {block}"
        )


if __name__ == "__main__":
    main()
