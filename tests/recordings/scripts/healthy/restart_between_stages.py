"""Restart the workers between two stages, to begin with fresh memory."""

import dask.array as da
from dask.distributed import Client

if __name__ == "__main__":
    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    x = da.random.random((4000, 4000), chunks=(1000, 2000))
    print("first", float(x.mean().compute()))
    client.restart()
    print("second", float(x.std().compute()))
    client.close()
