"""Keeps cubes of ocean data in memory, and compares their means."""

import dask.array as da
from dask.distributed import Client, LocalCluster, wait

if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="600MiB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster),
    ):
        cubes = da.random.random((16_000, 16_000), chunks=(1_600, 1_600)).persist()
        wait(cubes)
        for axis in (0, 1, 0):
            print(float(cubes.mean(axis=axis).max().compute()))
