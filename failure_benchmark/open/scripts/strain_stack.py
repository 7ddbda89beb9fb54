"""Stacks strain maps in one HDF5 file that all workers write."""

import os
import tempfile
import time

import h5py
import numpy as np
from dask.distributed import Client, LocalCluster


def write_map(path, pair):
    with h5py.File(path, "a") as file:
        file[f"pair-{pair:03}"] = np.full((50, 50), float(pair))
        time.sleep(0.3)  # maps of this size take a while
    return pair


if __name__ == "__main__":
    path = os.path.join(tempfile.mkdtemp(prefix="strain-"), "stack.h5")
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        print(sum(client.gather(client.map(write_map, [path] * 20, range(20)))))
