"""Tracks of tagged curlews: daily positions are resampled to one fix a second and stacked by bird.

Work files live in a staging folder that is moved to the archive at the end and must be gone afterwards.
"""

import os
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import dask
import numpy as np
from dask import delayed
from distributed import Client, LocalCluster

dask.config.set(
    {
        "distributed.scheduler.allowed-failures": 1,
        "distributed.worker.memory.target": False,
        "distributed.worker.memory.spill": False,
        "distributed.worker.memory.pause": False,
    }
)

BIRDS = {"NQ21": 4, "NQ25": 5, "NR02": 240, "NR07": 3, "NR11": 6}  # hours of flight


@contextmanager
def staging(parent):
    folder = Path(tempfile.mkdtemp(dir=parent, prefix="staging-"))
    (folder / "tracks").mkdir()
    try:
        yield folder
    finally:
        os.rmdir(folder / "tracks")
        os.rmdir(folder)


@delayed
def load_fixes(bird, hours):
    rng = np.random.default_rng(hours)
    seconds = np.arange(0, hours * 3600, 60.0)
    return bird, seconds, rng.normal(0, 1, (len(seconds), 3)).cumsum(axis=0)


@delayed
def resample_track(fixes):
    """One fix a second, with a window of the neighbourhood for the behaviour model."""
    bird, seconds, positions = fixes
    every = np.arange(seconds[0], seconds[-1])
    windows = []
    for axis in range(3):
        line = np.interp(every, seconds, positions[:, axis])
        for shift in range(60):
            windows.append(np.roll(line, shift))
            time.sleep(0.01)
    return bird, np.stack(windows).astype("float32").std(axis=0)


@delayed
def store_track(track, folder):
    bird, values = track
    target = Path(folder) / "tracks" / f"{bird}.npy"
    np.save(target, values)
    return str(target)


def publish(paths, archive):
    for path in paths:
        os.replace(path, archive / os.path.basename(path))


def main():
    base = Path(tempfile.mkdtemp(prefix="curlew-"))
    archive = base / "archive"
    archive.mkdir()
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="350MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        with staging(base) as folder:
            stored = [
                store_track(resample_track(load_fixes(bird, hours)), str(folder))
                for bird, hours in BIRDS.items()
            ]
            paths = client.gather(client.compute(stored))
            publish(paths, archive)
    print("archived", len(paths), "tracks")


if __name__ == "__main__":
    main()
