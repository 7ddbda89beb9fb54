"""Count sea urchins on the frames of the reef cameras.

Frames are segmented by the (native) run-length pool of the old counting program;
tide and turbidity of the same moments are read beside it and joined in the end.
"""

import concurrent.futures as cf
import ctypes
import os
import random
import sys
import time
from functools import partial

import dask
from dask import delayed
from distributed import Client, LocalCluster


class RunPool:
    """Buffers for run lengths, from the C library's heap."""

    def __init__(self):
        self.libc = ctypes.CDLL(None)
        self.libc.malloc.restype = ctypes.c_void_p
        self.libc.malloc.argtypes = [ctypes.c_size_t]
        self.libc.free.argtypes = [ctypes.c_void_p]
        self.held = []

    def take(self, size):
        self.held.append(self.libc.malloc(size))
        return self.held[-1]

    def give_back(self, pointer):
        self.libc.free(pointer)

    def drain(self):
        for pointer in self.held:
            self.libc.free(pointer)


def load_frame(reef, number):
    rnd = random.Random(f"{reef}/{number}")
    rows = [[rnd.random() for _ in range(80)] for _ in range(40)]
    if (reef, number) == ("gannet", 6):
        rows = [[0.99] * 80 for _ in range(40)]  # the diver's lamp
    return {"reef": reef, "number": number, "rows": rows}


def segment_frame(frame):
    pool = RunPool()
    time.sleep(0.3)
    bright = 0
    for row in frame["rows"]:
        lit = [v for v in row if v > 0.97]
        bright += len(lit)
        if len(lit) == len(row):
            # a run over the full width goes back to the pool at once
            buffer = pool.take(24)
            pool.give_back(buffer)
            break
    pool.drain()
    return frame["reef"], bright // 3


def read_turbidity(reef, number):
    time.sleep(0.4)
    return reef, 1 + (number * 13 % 7) / 10


def read_tide(reef, number):
    time.sleep(0.4)
    return reef, 2.1 - (number % 5) / 5


def join_moment(count, turbidity, tide):
    return {
        "reef": count[0],
        "urchins": count[1],
        "turbidity": turbidity[1],
        "tide": tide[1],
    }


def build(reefs, frames):
    for reef in reefs:
        for n in range(frames):
            frame = delayed(load_frame)(reef, n)
            yield delayed(join_moment)(
                delayed(segment_frame)(frame),
                delayed(read_turbidity)(reef, n),
                delayed(read_tide)(reef, n),
            )


def main():
    reefs = os.environ.get("REEFS", "anemone,cowrie,gannet").split(",")
    dask.config.set({"distributed.scheduler.allowed-failures": 0})
    make = partial(
        LocalCluster,
        n_workers=2,
        threads_per_worker=3,
        memory_limit="350MB",
        dashboard_address=None,
    )
    with make() as cluster, Client(cluster) as client:
        moments = client.compute(list(build(reefs, 9)))
        with cf.ThreadPoolExecutor(1) as pool:
            rows = pool.submit(client.gather, moments, "skip").result()
        lost = len(moments) - len(rows)
    for reef in reefs:
        counts = [r["urchins"] for r in rows if r["reef"] == reef]
        print(f"{reef:<10}{len(counts):>4} frames {sum(counts):>6} urchins")
    assert not lost, f"{lost} moments could not be joined"


if __name__ == "__main__":
    sys.exit(main())
