"""Decode satellite scanlines with the vendor's C routine."""

import ctypes
import struct

import numpy as np
from dask.distributed import Client, LocalCluster

libc = ctypes.CDLL(None)


def receive(orbit):
    rng = np.random.default_rng(orbit)
    body = rng.integers(0, 255, 4096, dtype="uint8").tobytes()
    offset = 16 if orbit != 13 else 0x7FFFFFFF0000
    return struct.pack("<QQ", offset, len(body)) + body


def decode(packet):
    offset, size = struct.unpack_from("<QQ", packet)
    source = (ctypes.c_char * len(packet)).from_buffer_copy(packet)
    target = (ctypes.c_char * size)()
    ctypes.memmove(target, ctypes.addressof(source) + offset, size)
    return np.frombuffer(target, dtype="uint8").copy()


def brightness(line):
    return float(line.mean())


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        packets = client.map(receive, range(20))
        lines = client.map(decode, packets)
        values = client.gather(client.map(brightness, lines))
        print("orbits", len(values), "mean", sum(values) / len(values))


if __name__ == "__main__":
    main()
