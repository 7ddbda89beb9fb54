"""Averages the lamp hours of lighthouses."""

import dask.array as da
from dask.distributed import Client, LocalCluster

cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
client = Client(cluster)

hours = da.random.random((1000, 1000), chunks=(250, 250))
print(hours.mean().compute())
