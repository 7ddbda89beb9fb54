"""Keeps the first seconds of the hours of a seismometer."""

import dask
import dask.array as da
from dask.distributed import Client, wait

if __name__ == "__main__":
    # The nodes have no disk of their own.
    dask.config.set({"distributed.worker.memory.target": False})
    dask.config.set({"distributed.worker.memory.spill": False})
    dask.config.set({"distributed.scheduler.allowed-failures": 0})
    with Client(n_workers=1, threads_per_worker=1, memory_limit="600MiB") as client:
        hours = da.random.random((48, 5_000_000), chunks=(1, 5_000_000))
        onsets = hours[:, :600].persist()
        wait(onsets)
        print(float(onsets.std().compute()))
