"""Nightly claims development triangles, one per line of business."""

import logging
import time

import dask
import numpy as np
from distributed import Client, LocalCluster

log = logging.getLogger("claims")
PORTFOLIOS = {"household": 400, "marine": 350, "motor": 30000, "travel": 300}


def load_policies(name, n):
    rng = np.random.default_rng(len(name))
    return name, rng.gamma(2.0, 900.0, size=n)


def develop_triangle(item):
    name, paid = item
    blocks = []
    for lag in range(0, len(paid), 500):
        blocks.append(np.outer(paid[lag : lag + 500], np.ones(6000)))
        time.sleep(0.05)
    return name, float(np.mean([b.mean() for b in blocks]))


def settle_reserve(item):
    name, mean = item
    time.sleep(0.2)
    return name, round(mean * 1.07, 2)


def main():
    logging.basicConfig(level=logging.INFO)
    dask.config.set({"distributed.scheduler.allowed-failures": 1})
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=2,
            memory_limit="400MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        loaded = [client.submit(load_policies, k, n) for k, n in PORTFOLIOS.items()]
        tri = client.map(develop_triangle, loaded)
        res = client.map(settle_reserve, tri)
        for name, reserve in client.gather(res):
            log.info("reserve %s %.2f", name, reserve)


if __name__ == "__main__":
    main()
