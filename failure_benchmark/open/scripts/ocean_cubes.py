"""Keeps cubes of ocean data in memory, and compares their means."""

import dask.array as da
from dask.distributed import Client, LocalCluster, wait

if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="450MiB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster),
    ):
        cubes = da.random.random((12_000, 12_000), chunks=(1_200, 1_200)).persist()
        wait(cubes)
        for axis in (0, 1, 0):
            print(float(cubes.mean(axis=axis).max().compute()))
