"""Stores the pixels of a picture that are not covered by clouds."""

import os
import tempfile

import dask.array as da
from dask.distributed import Client, LocalCluster


def clear_pixels(picture):
    return picture[picture > 0.3]


if __name__ == "__main__":
    store = os.path.join(tempfile.mkdtemp(), "clear.zarr")
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster),
    ):
        picture = da.random.random((2_000, 2_000), chunks=(500, 500))
        clear = clear_pixels(picture)
        print(clear.mean().compute())
        clear.to_zarr(store)
