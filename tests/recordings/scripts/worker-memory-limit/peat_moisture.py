"""Moisture profiles of peat bogs; a profile that cannot be computed is retried once, then left out."""

import logging
import time

import dask
import numpy as np
from dask.distributed import Client, LocalCluster

log = logging.getLogger("peat")


def profile(bog, layers):
    stack = []
    for _ in range(layers):
        stack.append(np.full((1024, 1024, 2), float(len(bog))))  # 16 MiB a layer
        time.sleep(0.05)
    return {
        "bog": bog,
        "mean": float(np.mean([s.mean() for s in stack])),
        "layers": layers,
    }


def safe(client, future):
    try:
        return future.result()
    except Exception:
        log.info("no profile for %s", future.key)
        return None


def main():
    dask.config.set(
        {
            "distributed.scheduler.allowed-failures": 0,
            "distributed.worker.memory.pause": False,
            "distributed.worker.memory.spill": False,
        }
    )
    bogs = {"allgau": 4, "teufelsmoor": 6, "emsland": 60, "rhoen": 3}
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="450MiB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            futures = {
                b: client.submit(profile, b, n, key=f"profile-{b}")
                for b, n in bogs.items()
            }
            profiles = [safe(client, f) for f in futures.values()]
            wettest = max(profiles, key=lambda p: p["mean"])
            print("wettest:", wettest["bog"])


if __name__ == "__main__":
    main()
