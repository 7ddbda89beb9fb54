"""Mean elevation of the slate hills from survey strips."""

import tempfile

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster


@dask.delayed
def read_strip(number):
    width = 640 if number != 6 else 600
    return np.random.default_rng(number).normal(300, 40, size=(50, width))


def main():
    with (
        tempfile.TemporaryDirectory() as tmp,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            local_directory=tmp,
        ) as cluster,
        Client(cluster),
    ):
        strips = [
            da.from_delayed(read_strip(n), shape=(50, 640), dtype=float)
            for n in range(9)
        ]
        hills = da.concatenate(strips, axis=0)
        slope = hills[1:] - hills[:-1]
        weights = da.ones(640, chunks=640)
        print(
            "mean",
            float(da.nanmean(hills.rechunk((450, 64)) * weights.rechunk(64)).compute()),
        )
        print("slope", float(abs(slope).max().compute()))


if __name__ == "__main__":
    main()
