"""Score the sewer camera clips; clips are decoded by a native library."""

import ctypes
import time

import dask
from dask.distributed import Client, LocalCluster

CLIPS = ["kanal-011", "kanal-012", "kanal-013", "kanal-014", "kanal-015", "kanal-016"]


@dask.delayed
def decode_clip(clip):
    time.sleep(0.3)
    if clip.endswith("014"):
        ctypes.memset(16, 0, 4096)
    return clip, len(clip) * 100


@dask.delayed
def score(decoded):
    return decoded[0], decoded[1] % 37


def main():
    with dask.config.set({"distributed.scheduler.allowed-failures": 1}):
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=":0"
            ) as cluster,
            Client(cluster),
        ):
            for clip, points in dask.compute(*[score(decode_clip(c)) for c in CLIPS]):
                print(clip, points)


if __name__ == "__main__":
    main()
