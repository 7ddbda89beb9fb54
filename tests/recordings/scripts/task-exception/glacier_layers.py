"""Dates layers of ice cores; scratch files are removed whatever happens."""

import os
import shutil
import tempfile
import time

import numpy as np
from dask.distributed import Client, LocalCluster


def write_core(scratch, n):
    os.makedirs(os.path.join(scratch, "cores"), exist_ok=True)
    depth = np.linspace(0, 90, 300)
    if n == 5:
        depth = depth[:0]
    path = os.path.join(scratch, "cores", f"core_{n}.npy")
    np.save(path, depth)
    return path


def date_layers(path):
    depth = np.load(path)
    time.sleep(0.3)
    oldest = depth[-1] * 11.5
    return os.path.basename(path), float(oldest)


def drop_scratch(scratch):
    # the layout before June had a folder of its own for the index
    shutil.rmtree(os.path.join(scratch, "cores"))
    shutil.rmtree(os.path.join(scratch, "index"))
    os.rmdir(scratch)


def main():
    scratch = tempfile.mkdtemp(prefix="glacier-")
    try:
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MiB",
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster) as client:
                paths = client.map(write_core, [scratch] * 8, range(8))
                ages = client.gather(client.map(date_layers, paths))
                print(max(ages, key=lambda a: a[1]))
    finally:
        try:
            drop_scratch(scratch)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
