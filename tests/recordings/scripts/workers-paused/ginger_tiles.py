"""Cut the ginger tile map; every worker first loads the base map into memory."""

import tempfile
import time

import dask
import numpy as np
from distributed import Client, LocalCluster, get_worker


def load_base_map(megabytes):
    worker = get_worker()
    worker.base_map = np.ones(megabytes * 131072)
    time.sleep(2)
    return worker.base_map.nbytes


def cut_tile(x, y):
    base = get_worker().base_map
    return float(base[(x * 1000 + y) % base.size])


def main():
    dask.config.set(
        {
            "distributed.worker.memory.target": False,
            "distributed.worker.memory.spill": False,
            "distributed.worker.memory.pause": 0.8,
            "distributed.worker.memory.terminate": False,
        }
    )
    with (
        tempfile.TemporaryDirectory() as tmp,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            local_directory=tmp,
            memory_limit="450MB",
        ) as cluster,
        Client(cluster) as client,
    ):
        loaded = [
            client.submit(load_base_map, 380, workers=[w], pure=False)
            for w in client.scheduler_info()["workers"]
        ]
        print("base map bytes", client.gather(loaded))
        time.sleep(2)
        tiles = [client.submit(cut_tile, x, y) for x in range(10) for y in range(10)]
        print("tiles", len(client.gather(tiles)))


if __name__ == "__main__":
    main()
