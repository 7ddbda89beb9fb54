"""Glacier mass balance: an actor keeps the running balance while the elevation models are read."""

import time

import dask
import numpy as np
from dask.distributed import Client, LocalCluster


class Balance:
    def __init__(self):
        self.total = 0.0

    def add(self, value):
        self.total += value
        return self.total


def load_dem(glacier, side):
    blocks = []
    for _ in range(side):
        blocks.append(np.ones((1000, 1250)))
        time.sleep(0.01)
    return glacier, float(sum(b.mean() for b in blocks))


def main():
    sides = {"aletsch": 4, "rhone": 3, "pasterze": 140, "morteratsch": 3}
    with LocalCluster(
        n_workers=1, threads_per_worker=2, memory_limit="600MiB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            balance = client.submit(Balance, actor=True).result()
            for glacier, side in sides.items():
                future = client.submit(load_dem, glacier, side)
                deadline = time.time() + 15
                while not future.done() and time.time() < deadline:
                    balance.add(0.0).result()
                    time.sleep(0.2)
                print(glacier, balance.add(future.result()[1]).result())


if __name__ == "__main__":
    main()
