"""Yield of logs; besides the scans there is one index over all boards."""

import time

import dask
import numpy as np
from dask import delayed
from dask.distributed import Client, LocalCluster


@delayed(pure=False)
def scan_log(n):
    # a steady 40 MiB while it runs
    image = np.random.default_rng(n).random((2560, 2048))
    for _ in range(6):
        image = np.sqrt(image)
        time.sleep(0.25)
    return {"log": n, "boards": 8 + n % 5, "score": float(image.mean())}


@delayed(pure=False)
def build_index(species):
    index = {}
    for board in range(4_000):
        index[(species, board)] = bytearray(512 * 1024)
        if board % 10 == 0:
            time.sleep(0.02)
    return len(index)


@delayed
def mill_report(scans, size):
    return sum(s["boards"] for s in scans) / size


def main():
    dask.config.set({"distributed.scheduler.allowed-failures": 1})
    with LocalCluster(
        n_workers=2, threads_per_worker=2, memory_limit="500MiB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster):
            scans = [scan_log(i) for i in range(10)]
            print("yield", mill_report(scans, build_index("larch")).compute())


if __name__ == "__main__":
    main()
