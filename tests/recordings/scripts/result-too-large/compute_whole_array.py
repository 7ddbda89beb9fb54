"""Bring a simulation home."""

import dask.array as da
from dask.distributed import Client

if __name__ == "__main__":
    client = Client(
        n_workers=2, threads_per_worker=1, memory_limit="400MiB", dashboard_address=":0"
    )
    fields = da.random.random((1000, 1000, 56), chunks=(1000, 1000, 2))
    scaled = (fields - 0.5) * 2
    print("mean", scaled.mean().compute())
    everything = scaled.compute()
    print(everything.shape)
