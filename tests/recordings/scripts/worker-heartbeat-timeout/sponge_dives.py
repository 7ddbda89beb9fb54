import ctypes
import logging

import dask
from dask.distributed import Client, LocalCluster

logging.basicConfig(level=logging.WARNING)
dask.config.set(
    {
        "distributed.scheduler.worker-ttl": "6s",
        "distributed.scheduler.allowed-failures": 0,
    }
)


class Decompression:
    """The ascent table of the old dive computer; its C code wants to be called as a part of the interpreter."""

    def __init__(self):
        self.library = ctypes.PyDLL(None)
        self.library.sleep.argtypes = [ctypes.c_uint]

    def ascend(self, depth):
        self.library.sleep(depth // 2)
        return depth * 1.4


def table(depth):
    return Decompression().ascend(depth)


def main():
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        for depth in (2, 3, 56):
            print(
                "ascent from",
                depth,
                "m:",
                client.submit(table, depth).result(timeout=60),
                "min",
            )


if __name__ == "__main__":
    main()
