"""Threads of dask, without distributed."""

import dask
import dask.array as da

if __name__ == "__main__":
    with dask.config.set(scheduler="threads"):
        print(da.random.random((2_000, 2_000), chunks=500).std().compute())
