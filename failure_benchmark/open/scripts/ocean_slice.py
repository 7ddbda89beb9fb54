"""Loads a slice of an ocean model."""

import dask.array as da
from dask.distributed import Client, LocalCluster

if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="600MB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        density = da.random.random((110, 1000, 1000), chunks=(4, 1000, 1000))  # 880 MB
        south = client.compute(density[:, :900, :])
        print(south.result().mean())
