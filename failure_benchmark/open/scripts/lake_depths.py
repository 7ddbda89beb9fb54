"""Computes the mean depth of lakes."""

import numpy as np
import xarray as xr
from dask.distributed import Client


def mean_depth(depths: np.ndarray) -> np.ndarray:
    return np.mean(depths)


if __name__ == "__main__":
    lakes = xr.Dataset({"depth": (["place"], np.arange(100.0))}).chunk(
        {"place": (20, 30, 50)}
    )
    with Client(n_workers=1, threads_per_worker=2) as client:
        means = xr.apply_ufunc(
            mean_depth, lakes, dask="parallelized", output_dtypes=[float]
        )
        print(means.depth.values)
