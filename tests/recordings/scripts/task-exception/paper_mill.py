"""Paper mill sensor frames: more data than memory, so the worker spills; the host tidies /tmp by size."""

import os
import tempfile
import threading
import time

import dask
import numpy as np
from dask.distributed import Client, LocalCluster, wait


def frame(reel):
    time.sleep(0.05)
    return np.random.default_rng(reel).normal(size=2_500_000)


def moisture(x):
    return float(np.abs(x).mean())


def tmp_tidy(folder, stop):
    """Site rule: nothing above 5 MB stays in scratch for long."""
    while not stop.wait(1.0):
        for root, _, files in os.walk(folder):
            for name in files:
                path = os.path.join(root, name)
                try:
                    if (
                        os.path.getsize(path) > 5_000_000
                        and time.time() - os.path.getmtime(path) > 1
                    ):
                        os.remove(path)
                except OSError:
                    pass


def main():
    stop = threading.Event()
    with tempfile.TemporaryDirectory() as folder:
        threading.Thread(target=tmp_tidy, args=(folder, stop), daemon=True).start()
        with dask.config.set(
            {
                "distributed.worker.memory.target": 0.4,
                "distributed.worker.memory.spill": 0.5,
                "distributed.worker.memory.pause": False,
                "distributed.worker.memory.terminate": False,
            }
        ):
            with LocalCluster(
                n_workers=1,
                threads_per_worker=1,
                memory_limit="500MiB",
                local_directory=folder,
                dashboard_address=":0",
            ) as cluster:
                with Client(cluster) as client:
                    frames = client.map(frame, range(24))
                    wait(frames)
                    time.sleep(3)
                    values = client.gather(client.map(moisture, frames))
                    print(len(values), max(values))
        stop.set()


if __name__ == "__main__":
    main()
