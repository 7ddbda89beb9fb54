"""Decode the fuel meters of the ferries with the vendor's frame layout."""

import ctypes
import struct

import dask
from dask.distributed import Client, wait

dask.config.set({"distributed.deploy.lost-worker-timeout": "60s"})


def frame(n):
    body = struct.pack("<IHH", n, 400 + n % 60, 7)
    return {"id": n, "body": body, "pointer": 0 if n != 23 else 1}


def decode(rec):
    """Frames of newer meters come as a pointer into the gateway's buffer."""
    if rec["pointer"]:
        body = ctypes.string_at(rec["pointer"], 8)
    else:
        body = rec["body"]
    serial, litres, _ = struct.unpack("<IHH", body)
    return serial, litres


def main():
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        frames = client.map(frame, range(40))
        meters = client.map(decode, frames)
        wait(meters)
        print("litres:", sum(m[1] for m in client.gather(meters)))


if __name__ == "__main__":
    main()
