"""Ground heights from lidar swaths, for a road authority.

A swath is a file of points plus its flight strip; the object opens its file again wherever it is used, so
that points are not sent around.  Workers keep their scratch files in a folder of their own on the fast disk.
"""

import logging
import pathlib
import tempfile

import numpy as np
from distributed import Client, LocalCluster

logging.basicConfig(level=logging.INFO, format="%(name)s %(levelname)s %(message)s")
log = logging.getLogger("lidar")

SCRATCH = '''
"""Preload of the workers: relative files go to the fast disk."""
import os
import tempfile


def dask_setup(worker):
    os.chdir(tempfile.mkdtemp(prefix="scratch-", dir=os.environ.get("FAST_DISK")))
'''


class Swath:
    def __init__(self, path, strip):
        self.path = path
        self.strip = strip
        self.points = np.load(path, mmap_mode="r")

    def __getstate__(self):
        return {"path": self.path, "strip": self.strip}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self.points = np.load(self.path, mmap_mode="r")

    def __dask_tokenize__(self):
        return "Swath", str(self.path), self.strip

    def tile(self, size=50.0):
        keys = np.floor(self.points[:, :2] / size).astype(int)
        return keys, self.points[:, 2]


def fly(folder, strips, points=8_000):
    """Test flight: a slope with some trees."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(3)
    for strip in range(strips):
        xy = rng.uniform([0, strip * 80], [500, strip * 80 + 100], size=(points, 2))
        z = (
            120
            + xy[:, 0] * 0.02
            + np.where(rng.random(points) < 0.3, rng.gamma(3, 2, points), 0)
        )
        np.save(folder / f"swath_{strip:02d}.npy", np.column_stack([xy, z]))
    return [Swath(folder / f"swath_{strip:02d}.npy", strip) for strip in range(strips)]


def ground(swath, quantile=0.05):
    keys, z = swath.tile()
    heights = {}
    for key in np.unique(keys, axis=0):
        inside = (keys == key).all(axis=1)
        heights[tuple(int(k) for k in key)] = float(np.quantile(z[inside], quantile))
    return heights


def mosaic(parts):
    merged = {}
    for part in parts:
        for key, height in part.items():
            merged[key] = min(height, merged.get(key, height))
    return merged


def main():
    swaths = fly(pathlib.Path("flight_0611"), strips=6)
    # the first strip is computed right here and compared with the survey marks
    marks = ground(swaths[0])
    log.info("strip 0: %d tiles, lowest ground %.2f m", len(marks), min(marks.values()))

    with tempfile.TemporaryDirectory(prefix="fast-") as fast_disk:
        preload = pathlib.Path(fast_disk) / "scratch_setup.py"
        preload.write_text(SCRATCH)
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="350MB",
                dashboard_address=None,
                preload=[str(preload)],
                env={"FAST_DISK": fast_disk},
            ) as cluster,
            Client(cluster) as client,
        ):
            log.info("workers: %s", sorted(client.scheduler_info()["workers"]))
            futures = [
                client.submit(ground, swath, key=f"ground-{swath.strip:02d}")
                for swath in swaths
            ]
            result = client.submit(mosaic, futures, key="mosaic").result(timeout=18)
            low, high = min(result.values()), max(result.values())
            log.info("%d tiles between %.2f and %.2f m", len(result), low, high)
            np.save(
                "ground.npy",
                np.array([[*key, value] for key, value in sorted(result.items())]),
            )


if __name__ == "__main__":
    main()
