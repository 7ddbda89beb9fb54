"""Correct images with a flat field."""

import dask.array as da
import numpy as np
from dask.distributed import Client

FLAT = np.ones((1, 512, 512))


def correct(block):
    return block / FLAT


if __name__ == "__main__":
    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=None)
    # the camera's region of interest changed: 500 rows, not 512
    images = da.random.random((24, 500, 512), chunks=(1, 500, 512))
    corrected = images.map_blocks(correct, dtype=images.dtype)
    print(corrected.mean(axis=(1, 2)).compute()[:3])
