"""Cooling simulation of bell moulds with the foundry's compiled solver."""

import ctypes
import time

import dask
import numpy as np
from dask.distributed import Client, LocalCluster

dask.config.set(
    {
        "distributed.scheduler.worker-ttl": "10s",
        "distributed.scheduler.allowed-failures": 0,
    }
)

RINGS = {
    "st ann": [("small", 0.4), ("prime", 1.1), ("tenor", 2.3)],
    "cathedral": [("bourdon", 6.8)],
}


class Solver:
    """Loads the solver the way the vendor's Python binding does."""

    def __init__(self):
        self.library = ctypes.PyDLL(None)

    def settle(self, tonnes):
        if tonnes > 5:
            self.library.sleep(ctypes.c_uint(900))
        else:
            self.library.usleep(ctypes.c_uint(int(200_000 * tonnes)))


def grid(mould, tonnes):
    time.sleep(0.3)
    return np.full((60, 60), 1100.0 + tonnes)


def cool(temperatures, mould, tonnes):
    solver = Solver()
    for _ in range(3):
        temperatures = (
            0.25
            * (
                np.roll(temperatures, 1, 0)
                + np.roll(temperatures, -1, 0)
                + np.roll(temperatures, 1, 1)
                + np.roll(temperatures, -1, 1)
            )
            - 2.0
        )
        solver.settle(tonnes)
    return mould, float(temperatures.mean())


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="500MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            client.wait_for_workers(2)
            for ring, moulds in RINGS.items():
                cooled = []
                for mould, tonnes in moulds:
                    start = client.submit(grid, mould, tonnes, key=f"grid-{mould}")
                    cooled.append(
                        client.submit(cool, start, mould, tonnes, key=f"cool-{mould}")
                    )
                for mould, mean in client.gather(cooled):
                    print(f"{ring}, {mould}: {mean:.1f} C")


if __name__ == "__main__":
    main()
