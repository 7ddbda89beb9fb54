"""A typo in the name of the scheduler's host."""

import os

import dask
import dask.array as da
from dask.distributed import Client

SCHEDULER = os.environ.get("SCHEDULER", "tcp://dask-schedular.example.invalid:8786")

if __name__ == "__main__":
    with dask.config.set({"distributed.comm.timeouts.connect": "6s"}):
        client = Client(SCHEDULER)
        print(da.ones((1000, 1000), chunks=100).sum().compute())
