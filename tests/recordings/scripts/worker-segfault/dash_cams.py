"""Counts number plates in dash cam clips; one tracker keeps the tally of the fleet."""

import ctypes
import logging
import struct
import sys
import time

import dask
import numpy as np
from dask.distributed import Client, LocalCluster

log = logging.getLogger("dash_cams")

HEADER = "<4sIIQ"  # magic, width, height, bytes of the picture
SIZE = (160, 90)


class Tracker:
    """Tally of plates per vehicle; lives on one worker for the whole night."""

    def __init__(self):
        self.plates = {}

    def add(self, vehicle, count):
        self.plates[vehicle] = self.plates.get(vehicle, 0) + count
        return self.plates[vehicle]

    def totals(self):
        return dict(self.plates)


def record_clip(vehicle, frame):
    """A frame as the camera stores it."""
    rng = np.random.default_rng(vehicle * 1000 + frame)
    picture = rng.integers(0, 255, SIZE[0] * SIZE[1], dtype="uint8").tobytes()
    length = len(picture)
    if vehicle == 23 and frame == 6:
        length |= 1 << 36
    return struct.pack(HEADER, b"DCAM", *SIZE, length) + picture


def unpack_frame(blob):
    """Copies the picture out of the clip without going through Python objects."""
    magic, width, height, length = struct.unpack_from(HEADER, blob)
    if magic != b"DCAM":
        raise ValueError(f"not a frame: {magic!r}")
    target = np.empty(width * height, dtype="uint8")
    source = ctypes.c_char_p(blob[struct.calcsize(HEADER) :])
    ctypes.memmove(target.ctypes.data, source, length)
    return target.reshape(width, height)


def count_plates(vehicle, frames):
    found = 0
    for n in range(frames):
        picture = unpack_frame(record_clip(vehicle, n))
        found += int((picture > 250).sum() > 280)
        time.sleep(0.1)
    return vehicle, found


def night(client, tracker, home, vehicles):
    # next to the tracker, so that the counts do not travel
    futures = [
        client.submit(
            count_plates, v, 10, workers=[home], key=f"count_plates-{v}", pure=False
        )
        for v in vehicles
    ]
    skipped = []
    for vehicle, future in zip(vehicles, futures):
        try:
            _, found = future.result()
        except Exception as exc:
            log.warning("vehicle %d skipped (%s)", vehicle, type(exc).__name__)
            skipped.append(vehicle)
            continue
        tracker.add(vehicle, found).result()
    return skipped


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )
    dask.config.set({"distributed.scheduler.allowed-failures": 0})
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="250MiB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            home = sorted(client.scheduler_info()["workers"])[0]
            tracker = client.submit(Tracker, actor=True, workers=[home]).result()
            log.info("tracker lives on %s", home)
            skipped = night(client, tracker, home, list(range(17, 27)))
            totals = tracker.totals().result()
            log.info(
                "%d plates, %d vehicles skipped", sum(totals.values()), len(skipped)
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
