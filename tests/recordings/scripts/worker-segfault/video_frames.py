"""Extract key frames with the camera vendor's decoder."""

import ctypes

import dask
from dask.distributed import Client, LocalCluster

CLIPS = [
    {"name": f"cam{i:02d}.raw", "frames": 200 + i, "offset": 4096 * i}
    for i in range(10)
]
CLIPS[6]["offset"] = None


class VendorDecoder:
    def __init__(self):
        self.buffer = ctypes.create_string_buffer(4096 * 16)

    def read(self, offset, size):
        base = ctypes.addressof(self.buffer) if offset is not None else 0
        frame = ctypes.create_string_buffer(size)
        ctypes.memmove(frame, base + (offset or 0), size)
        return frame.raw


def key_frames(clip):
    decoder = VendorDecoder()
    raw = decoder.read(clip["offset"], 64)
    return clip["name"], len(raw) * clip["frames"]


def main():
    with dask.config.set({"distributed.scheduler.allowed-failures": 1}):
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            futures = [
                client.submit(key_frames, clip, key=f"frames-{clip['name']}")
                for clip in CLIPS
            ]
            for name, size in client.gather(futures):
                print(name, size)


if __name__ == "__main__":
    main()
