"""Coarsen daily rainfall grids and store the monthly mean."""

import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster


def daily_grid():
    rng = da.random.default_rng(5)
    return rng.gamma(0.8, 3.0, size=(60, 361, 720), chunks=(10, 90, 180))


def coarsen_block(block):
    days, lat, lon = block.shape
    return block.reshape(days, lat // 2, 2, lon // 2, 2).mean(axis=(2, 4))


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster),
    ):
        grid = daily_grid()
        lat_chunks = tuple(max(c // 2, 1) for c in grid.chunks[1])
        lon_chunks = tuple(c // 2 for c in grid.chunks[2])
        coarse = grid.map_blocks(
            coarsen_block,
            dtype=float,
            meta=np.empty((0, 0, 0)),
            chunks=(grid.chunks[0], lat_chunks, lon_chunks),
        )
        monthly = coarse[:30].mean(axis=0)
        print("wet cells:", int((monthly > 2.4).sum().compute()))


if __name__ == "__main__":
    main()
