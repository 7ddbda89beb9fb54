"""Principal modes of a district heating network's temperature field (sensors x time), a weekly job.

Raw counts come per day; they are calibrated and smoothed blockwise with halo, then the leading modes are taken
out of the whole matrix.
"""

import sys
import time

import dask
import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster

SETTINGS = {
    "distributed.scheduler.allowed-failures": 1,
    "distributed.comm.timeouts.connect": "10s",
    "array.slicing.split-large-chunks": False,
}
SENSORS = 3000


def raw_day(block_info=None):
    shape = block_info[None]["chunk-shape"]
    day = block_info[None]["chunk-location"][1]
    rng = np.random.default_rng(day)
    return rng.normal(55.0, 4.0, shape) + np.sin(np.arange(shape[1]) / 40.0)


def calibrate(block, gain=0.98, offset=-1.3):
    return block * gain + offset


def smooth(block):
    return (np.roll(block, 1, axis=1) + block + np.roll(block, -1, axis=1)) / 3.0


def modes_of(block, keep):
    centred = block - block.mean(axis=1, keepdims=True)
    gram = centred.T @ centred
    values, vectors = np.linalg.eigh(gram)
    order = np.argsort(values)[::-1][:keep]
    return vectors[:, order].T


class ModeAnalysis:
    def __init__(self, days, samples=500, keep=6):
        self.keep = keep
        self.field = da.map_blocks(
            raw_day,
            chunks=((SENSORS,), (samples,) * days),
            dtype="f8",
            meta=np.empty((0, 0)),
        )

    def prepared(self):
        return self.field.map_blocks(calibrate, dtype="f8").map_overlap(
            smooth, depth={1: 1}, boundary="nearest", dtype="f8"
        )

    def daily_means(self):
        return self.prepared().mean(axis=0)

    def modes(self):
        whole = self.prepared().rechunk((-1, -1))
        steps = whole.shape[1]
        return whole.map_blocks(
            modes_of,
            self.keep,
            chunks=((self.keep,), (steps,)),
            dtype="f8",
            meta=np.empty((0, 0)),
        )


def main(days=40):
    started = time.monotonic()
    with dask.config.set(SETTINGS):
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="440 MB",
            dashboard_address=None,
        ) as cluster:
            with Client(cluster) as client:
                analysis = ModeAnalysis(days)
                means = analysis.daily_means().compute()
                print(
                    f"network mean {means.mean():.2f} C after {time.monotonic() - started:.1f} s"
                )
                modes = client.compute(analysis.modes()).result(timeout=50)
    np.save("modes.npy", modes)
    print("modes", modes.shape)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
