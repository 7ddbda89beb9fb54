"""Decode the fuel meters of the ferries with the vendor's frame layout."""

import ctypes
import struct

from dask.distributed import Client, wait


def frame(n):
    body = struct.pack("<IHH", n, 400 + n % 60, 7)
    return {"id": n, "body": body, "pointer": 0 if n != 23 else 1}


class Meter(ctypes.Structure):
    _fields_ = [("serial", ctypes.c_uint32), ("litres", ctypes.c_uint16)]


def decode(rec):
    """Frames of newer meters come as a pointer into the gateway's buffer."""
    if rec["pointer"]:
        meter = ctypes.cast(rec["pointer"], ctypes.POINTER(Meter)).contents
    else:
        meter = Meter.from_buffer_copy(rec["body"])
    return meter.serial, meter.litres


def main():
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        frames = client.map(frame, range(40))
        meters = client.map(decode, frames)
        wait(meters)
        print("litres:", sum(m[1] for m in client.gather(meters)))


if __name__ == "__main__":
    main()
