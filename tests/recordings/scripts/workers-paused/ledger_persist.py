"""Keep the year's ledger in memory and query it."""

import dask
import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster, wait


def month_block(month):
    rng = np.random.default_rng(month)
    return rng.random(5_000_000)


def main():
    settings = {
        "distributed.worker.memory.target": False,
        "distributed.worker.memory.spill": False,
        "distributed.worker.memory.pause": 0.7,
        "distributed.worker.memory.terminate": False,
    }
    with dask.config.set(settings):
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="450MB",
            dashboard_address=None,
        ) as cluster:
            with Client(cluster) as client:
                months = client.map(month_block, range(30))
                totals = client.map(np.sum, months)
                wait(totals, timeout=9)
                print("year total:", round(float(sum(client.gather(totals))), 2))


if __name__ == "__main__":
    main()
