"""Nightly tomography: unpack the detector frames, correct them with the vendor's buffer pool, stack the slices."""

import argparse
import ctypes
import logging
import sys
import time

import dask
import numpy as np
from distributed import Client, LocalCluster
from distributed.scheduler import KilledWorker

log = logging.getLogger("tomo_slices")

FRAME = 256  # pixels a side
HEADER = 16  # bytes in front of the pixels of binned frames


def heap():
    """malloc and free of the C library, for the vendor's buffers."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.malloc.argtypes = [ctypes.c_size_t]
    libc.free.argtypes = [ctypes.c_void_p]
    return libc


class FrameBuffer:
    """A frame in memory of the C library, as the vendor's correction wants it."""

    def __init__(self, pixels, binned):
        size = pixels.nbytes + (HEADER if binned else 0)
        self.base = heap().malloc(size)
        ctypes.memset(self.base, 0, HEADER)
        self.data = self.base + HEADER if binned else self.base
        ctypes.memmove(self.data, pixels.ctypes.data, pixels.nbytes)
        self.shape = pixels.shape

    def as_array(self):
        raw = (ctypes.c_float * (self.shape[0] * self.shape[1])).from_address(self.data)
        return np.frombuffer(raw, dtype="float32").reshape(self.shape).copy()

    def release(self):
        heap().free(self.data)


def unpack(scan, number):
    rng = np.random.default_rng(number)
    time.sleep(0.2)
    return {
        "scan": scan,
        "number": number,
        "binned": scan == "bone-0417" and number >= 8,
        "pixels": rng.normal(900.0, 40.0, (FRAME, FRAME)).astype("float32"),
    }


def flat_field(frame, dark=96.0, gain=0.0125):
    """Dark current and gain correction in a buffer of the vendor's layout."""
    buffer = FrameBuffer(frame["pixels"], frame["binned"])
    corrected = (buffer.as_array() - dark) * gain
    buffer.release()
    time.sleep(0.1)
    return {
        "scan": frame["scan"],
        "number": frame["number"],
        "mean": float(corrected.mean()),
    }


def stack(frames):
    frames = sorted(frames, key=lambda frame: frame["number"])
    return {
        "scan": frames[0]["scan"],
        "slices": len(frames),
        "mean": round(sum(f["mean"] for f in frames) / len(frames), 4),
    }


def submit_scan(client, scan, slices):
    raw = [
        client.submit(unpack, scan, n, key=f"unpack-{scan}-{n}") for n in range(slices)
    ]
    flat = [
        client.submit(flat_field, frame, key=f"flat_field-{scan}-{n}")
        for n, frame in enumerate(raw)
    ]
    return client.submit(stack, flat, key=f"stack-{scan}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slices", type=int, default=12)
    parser.add_argument(
        "scans", nargs="*", default=["leaf-0415", "shell-0416", "bone-0417"]
    )
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )

    dask.config.set({"distributed.scheduler.allowed-failures": 2})
    failed = []
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="300MiB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        for scan in args.scans:
            log.info("scan %s: %d slices", scan, args.slices)
            future = submit_scan(client, scan, args.slices)
            try:
                log.info("scan %s: %s", scan, future.result(timeout=300))
            except KilledWorker as error:
                log.error("scan %s was not stacked: %s", scan, error)
                failed.append(scan)
    if failed:
        log.error(
            "%d of %d scans failed: %s", len(failed), len(args.scans), ", ".join(failed)
        )
        return 5
    log.info("all scans stacked")
    return 0


if __name__ == "__main__":
    sys.exit(main())
