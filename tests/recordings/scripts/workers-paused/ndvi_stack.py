import os
import threading
import time

import dask
import numpy as np
from distributed import Client, LocalCluster

PROFILE = {
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": 0.7,
    "distributed.worker.memory.terminate": False,
}


def ndvi(scene):
    rng = np.random.default_rng(scene)
    red = rng.random((2200, 2200), dtype="f8")
    nir = red[::-1]
    time.sleep(0.4)
    return (nir - red) / (nir + red)


def percentile(*scenes):
    return [round(float(np.percentile(s, 90)), 4) for s in scenes]


def stopwatch(limit, futures):
    def check():
        states = [f.status for f in futures]
        print(
            f"slot of {limit} s is over:",
            states.count("finished"),
            "scenes done,",
            states.count("pending"),
            "pending",
            flush=True,
        )
        os._exit(75)

    t = threading.Timer(limit, check)
    t.daemon = True
    t.start()
    return t


def main():
    dask.config.set(PROFILE)
    with LocalCluster(
        n_workers=1, threads_per_worker=1, memory_limit="500MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            scenes = client.map(ndvi, range(18))
            t = stopwatch(25, scenes)
            print(client.submit(percentile, *scenes).result())
            t.cancel()


if __name__ == "__main__":
    main()
