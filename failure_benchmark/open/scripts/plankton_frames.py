"""Measures plankton in frames of a camera, window by window."""

import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster


def brightness(frames):
    return np.array([frame.mean() for frame in frames])


def filmed():
    numbers = np.random.default_rng(3)
    frames = np.empty(40_000, dtype=object)
    for at in range(len(frames)):
        frames[at] = numbers.random((9, 9))
    return frames


if __name__ == "__main__":
    frames = filmed()
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster),
    ):
        for window in range(50):
            film = da.from_array(frames, chunks=200)
            part = film[window * 200 : window * 200 + 200]
            print(window, part.map_blocks(brightness, dtype=float).max().compute())
