"""Statistics of a random field."""

import dask.array as da
from dask.distributed import Client

if __name__ == "__main__":
    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    x = da.random.random((8000, 4000), chunks=(1000, 2000))
    mean, std = da.compute(x.mean(axis=0), x.std(axis=0))
    print(mean.shape, float(std.mean()))
    client.close()
