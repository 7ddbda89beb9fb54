"""Spilling and pausing are switched off; persisted blocks pile up."""

import dask
import dask.array as da
from dask.distributed import Client, wait

dask.config.set(
    {
        "distributed.worker.memory.target": False,
        "distributed.worker.memory.spill": False,
        "distributed.worker.memory.pause": False,
    }
)

if __name__ == "__main__":
    with Client(
        n_workers=2, threads_per_worker=1, memory_limit="400MiB", dashboard_address=":0"
    ) as client:
        cube = da.random.random((6_000, 30_000), chunks=(1_000, 3_000)).persist()
        wait(cube)
        print(cube.mean().compute())
