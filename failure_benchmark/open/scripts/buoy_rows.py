"""Stores the buoys of a store anew, without the first seven."""

import os
import tempfile

import dask.array as da
import xarray as xr
from dask.distributed import Client, LocalCluster

if __name__ == "__main__":
    folder = tempfile.mkdtemp(prefix="buoys-")
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster),
    ):
        waves = da.ones((40, 50), chunks=(20, 50))
        store = xr.Dataset({"wave": (("buoy", "hour"), waves)})
        store.assign_coords(buoy=range(40)).to_zarr(os.path.join(folder, "all"))
        some = xr.open_zarr(os.path.join(folder, "all")).isel(buoy=slice(7, None))
        some.to_zarr(os.path.join(folder, "some"))
        print(some.wave.sum().compute())
