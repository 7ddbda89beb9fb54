"""Elevation tiles: compute the hill shade of the whole country and save it."""

import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster


def hillshade(block):
    gy, gx = np.gradient(block)
    return np.arctan(np.hypot(gx, gy))


def country():
    rng = da.random.RandomState(8)
    return rng.random_sample((6000, 9000), chunks=(1500, 1500))


def main():
    with LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        memory_limit="400MB",
        dashboard_address=":0",
    ) as cluster:
        with Client(cluster) as client:
            shade = country().map_blocks(hillshade, dtype=float)
            print("tiles:", shade.numblocks, "MB:", shade.nbytes // 2**20)
            whole = client.compute(shade)
            print("steepest:", whole.result().max())


if __name__ == "__main__":
    main()
