"""Rain radar: dealias each sweep with the C library through ctypes."""

import ctypes

import dask
from dask.distributed import Client, LocalCluster

dask.config.set(
    {
        "distributed.scheduler.worker-ttl": "6s",
        "distributed.scheduler.allowed-failures": 0,
    }
)


class Dealias:
    """The library's calls are short, so they keep the interpreter."""

    def __init__(self):
        self.lib = ctypes.PyDLL(None)

    def settle(self, milliseconds):
        self.lib.usleep(ctypes.c_uint(milliseconds * 1000))


def sweep(elevation):
    library = Dealias()
    rounds = 4 if elevation < 7 else 40_000
    library.settle(rounds)
    return elevation, rounds


def main():
    with LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            sweeps = client.map(sweep, range(10))
            for elevation, rounds in client.gather(sweeps):
                print(elevation, rounds)


if __name__ == "__main__":
    main()
