"""Split recordings into shots; extra nodes are released when idle."""

import os
import tempfile
import time

import numpy as np
from dask.distributed import Client, LocalCluster, get_worker


def scratch():
    worker = get_worker()
    path = os.path.join(worker.local_directory, "shots")
    os.makedirs(path, exist_ok=True)
    return path


def split(recording):
    rng = np.random.default_rng(recording)
    time.sleep(0.3)
    path = os.path.join(scratch(), f"rec{recording}.npy")
    np.save(path, rng.integers(0, 255, (40, 32, 32), dtype="uint8"))
    return path


def features(path):
    shots = np.load(path)
    return float(np.abs(np.diff(shots.astype("int16"), axis=0)).mean())


def main():
    with tempfile.TemporaryDirectory() as root:
        with (
            LocalCluster(
                n_workers=3,
                threads_per_worker=1,
                local_directory=root,
                dashboard_address=None,
            ) as cluster,
            Client(cluster) as client,
        ):
            client.wait_for_workers(3)
            paths = client.gather(client.map(split, range(18)))
            print("recordings split", len(paths))
            cluster.adapt(minimum=1, maximum=3, interval="300ms", wait_count=2)
            time.sleep(5)  # catalogue lookup
            values = client.gather(client.map(features, paths))
            print("mean motion", round(sum(values) / len(values), 2))


if __name__ == "__main__":
    main()
