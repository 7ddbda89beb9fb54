"""Decode frames with a native codec."""

import ctypes

from dask.distributed import Client


def decode(frame):
    if frame == 4:
        ctypes.memmove(8, b"x", 1)
    return frame


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        print(client.gather(client.map(decode, range(8))))
