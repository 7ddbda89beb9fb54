"""Roof scans for an insurer: which roofs of a district need a new inspection.

First a small cluster reduces the aerial tiles to height profiles, and is given back; then a second one
fits planes to the profiles.  Planes are fitted by the C library of the surveyor (here: libc's qsort stands
for its sorting of heights), called through ctypes.
"""

import contextlib
import ctypes
import ctypes.util
import logging
import tempfile

import numpy as np
from dask.distributed import Client, KilledWorker, LocalCluster

log = logging.getLogger("roofs")
DISTRICTS = ["harbour", "old-town", "mill-hill", "station", "meadows", "north-end"]


@contextlib.contextmanager
def cluster_of(workers, threads, folder):
    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=threads,
            memory_limit="400MB",
            dashboard_address=None,
            local_directory=folder,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def height_profile(district, seed):
    rng = np.random.default_rng(seed)
    tile = rng.normal(8.0, 2.0, (500, 500))
    profile = tile.max(axis=1)
    if district == "station":
        # no flight over the railway: nothing was measured
        profile = profile[:0]
    return np.ascontiguousarray(profile)


class PlaneLibrary:
    """The few functions that we need of the surveyor's library."""

    def __init__(self):
        self.lib = ctypes.CDLL(ctypes.util.find_library("c") or "libc.so.6")
        self.compare_type = ctypes.CFUNCTYPE(
            ctypes.c_int,
            ctypes.POINTER(ctypes.c_double),
            ctypes.POINTER(ctypes.c_double),
        )

    def sort(self, heights):
        def compare(a, b):
            return (a[0] > b[0]) - (a[0] < b[0])

        self.lib.qsort(
            heights.ctypes.data_as(ctypes.c_void_p),
            ctypes.c_size_t(len(heights)),
            ctypes.c_size_t(8),
            self.compare_type(compare),
        )
        return heights

    @staticmethod
    def handle(heights):
        """Where the library finds the last element."""
        return heights.ctypes.data + 8 * (len(heights) - 1) if len(heights) else None

    def ridge(self, heights):
        out = ctypes.c_double()
        self.lib.memcpy(
            ctypes.byref(out), ctypes.c_void_p(self.handle(heights)), ctypes.c_size_t(8)
        )
        return out.value


def fit_planes(district, profile):
    library = PlaneLibrary()
    heights = library.sort(profile.copy())
    ridge = library.ridge(heights)
    return {
        "district": district,
        "ridge": ridge,
        "eaves": float(heights[0]),
        "pitch": ridge - float(heights[0]),
    }


def profiles_of(folder):
    with cluster_of(2, 2, folder) as client:
        futures = client.map(height_profile, DISTRICTS, range(len(DISTRICTS)))
        profiles = client.gather(futures)
    log.info("profiles of %d districts, cluster given back", len(profiles))
    return dict(zip(DISTRICTS, profiles))


def planes_of(profiles, folder):
    with cluster_of(2, 1, folder) as client:
        futures = {
            district: client.submit(
                fit_planes, district, profile, key=f"fit_planes-{district}"
            )
            for district, profile in profiles.items()
        }
        rows, lost = [], []
        for district, future in futures.items():
            try:
                rows.append(future.result())
            except KilledWorker:
                lost.append(district)
                log.error("no planes for %s", district)
    return rows, lost


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(levelname)s %(name)s: %(message)s"
    )
    with tempfile.TemporaryDirectory() as folder:
        profiles = profiles_of(folder)
        rows, lost = planes_of(profiles, folder)
    for row in rows:
        print(
            f"{row['district']:<10} ridge {row['ridge']:6.2f}  pitch {row['pitch']:6.2f}"
        )
    if lost:
        raise RuntimeError(
            f"roof scan incomplete, {len(lost)} districts without planes"
        )


if __name__ == "__main__":
    main()
