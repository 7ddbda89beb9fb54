"""Read devices; the driver library keeps the handle in its exceptions."""

import socket

from dask.distributed import Client


class DeviceTimeout(Exception):
    def __init__(self, text, handle):
        super().__init__(text)
        self.handle = handle


def read_device(n):
    handle = socket.socket()
    if n == 4:
        raise DeviceTimeout(f"device {n} did not answer in 250 ms", handle)
    handle.close()
    return n


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        print(client.gather(client.map(read_device, range(8))))
