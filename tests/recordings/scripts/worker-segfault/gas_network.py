import ctypes
import struct

import dask
from dask.distributed import Client, LocalCluster


class Pipeline:
    def __init__(self, name, pressure):
        self.name = name
        self.pressure = pressure


def pack_segment(pipe):
    buf = ctypes.create_string_buffer(
        struct.pack("16sd", pipe.name.encode(), pipe.pressure)
    )
    address = ctypes.addressof(buf)
    if pipe.pressure > 75:
        address = int(pipe.pressure)
    return ctypes.string_at(address, 24)


def checksum(blobs):
    return sum(map(len, blobs))


def main():
    dask.config.set({"distributed.scheduler.allowed-failures": 1})
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        pipes = [Pipeline(f"seg-{k}", 20 + k * 4.0) for k in range(15)]
        blobs = client.map(pack_segment, pipes)
        print("bytes", client.submit(checksum, blobs).result())


if __name__ == "__main__":
    main()
