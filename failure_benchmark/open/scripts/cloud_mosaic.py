"""Makes a mosaic without clouds: the median of the pictures of two months."""

import dask
import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster

SIDE = 1_600


def picture(day):
    row = np.random.default_rng(day).random(SIDE).astype("float32")
    return (row[:, None] + row[None, :])[None]


if __name__ == "__main__":
    dask.config.set({"distributed.scheduler.allowed-failures": 0})
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="350MiB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster),
    ):
        pictures = [
            da.from_delayed(dask.delayed(picture)(day), (1, SIDE, SIDE), "float32")
            for day in range(60)
        ]
        mosaic = da.median(da.concatenate(pictures), axis=0)
        print(float(mosaic.mean().compute()))
