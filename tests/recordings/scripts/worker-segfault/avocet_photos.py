"""Counts avocets on the photos of the reserve's trail cameras.

Step 1 decodes the raw frames of each camera with the vendor's C routine.
Step 2 compares the frames with reference plumages that lie on the workers.
A camera whose frames cannot be read is left out for the night.
"""

import ctypes
import logging
import struct
from pathlib import Path

import dask
import numpy as np
from dask.distributed import Client, KilledWorker, LocalCluster, wait

dask.config.set({"distributed.scheduler.allowed-failures": 0})
log = logging.getLogger("avocets")
CAMERAS = ["hide-east", "hide-west", "lagoon", "sluice", "saltmarsh", "causeway"]
SIDE = 64


def store_frames(folder):
    """Stands for the nightly copy from the cameras' memory cards."""
    rng = np.random.default_rng(7)
    for camera in CAMERAS:
        pixels = rng.integers(0, 255, size=(SIDE, SIDE), dtype=np.uint8).tobytes()
        offset = 0 if camera != "saltmarsh" else 0x7FFF_0000_0000
        header = struct.pack("<4sQI", b"AVR1", offset, len(pixels))
        (folder / f"{camera}.avr").write_bytes(header + pixels)


class Frame:
    """View of one raw file, as the vendor's header describes it."""

    HEADER = "<4sQI"

    def __init__(self, blob):
        magic, self.offset, self.size = struct.unpack_from(self.HEADER, blob)
        if magic != b"AVR1":
            raise ValueError("not a raw frame")
        self.body = ctypes.create_string_buffer(blob[struct.calcsize(self.HEADER) :])

    def unpack(self):
        target = ctypes.create_string_buffer(self.size)
        ctypes.memmove(target, ctypes.addressof(self.body) + self.offset, self.size)
        return np.frombuffer(target.raw, dtype=np.uint8).reshape(SIDE, SIDE)


def decode_camera(path):
    frame = Frame(Path(path).read_bytes()).unpack()
    return frame.astype("float32") / 255


def likeness(frame, plumages):
    scores = [float((frame * plumage).mean()) for plumage in plumages]
    return int(np.argmax(scores)), max(scores)


def load_plumages(client):
    rng = np.random.default_rng(11)
    plumages = [rng.random((SIDE, SIDE), dtype="float32") for _ in range(6)]
    return client.scatter(plumages)


def decode_all(client, folder):
    frames = {
        camera: client.submit(decode_camera, str(folder / f"{camera}.avr"), pure=False)
        for camera in CAMERAS
    }
    wait(list(frames.values()))
    readable = {}
    for camera, future in frames.items():
        if future.status == "error":
            problem = future.exception()
            if not isinstance(problem, (KilledWorker, ValueError)):
                raise problem
            log.warning("camera %s left out: %s", camera, type(problem).__name__)
        else:
            readable[camera] = future
    return readable


def count(client, frames, plumages):
    found = {
        camera: client.submit(likeness, frame, plumages)
        for camera, frame in frames.items()
    }
    return client.gather(found)


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(levelname)s %(name)s: %(message)s"
    )
    folder = Path.cwd() / "cards"
    folder.mkdir(exist_ok=True)
    store_frames(folder)
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="450MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            plumages = load_plumages(client)
            frames = decode_all(client, folder)
            log.info("%d of %d cameras readable", len(frames), len(CAMERAS))
            client.wait_for_workers(2, timeout=20)
            for camera, (plumage, score) in count(client, frames, plumages).items():
                print(f"{camera:10s} plumage {plumage} ({score:.3f})")


if __name__ == "__main__":
    main()
