"""City planning: counts of people at crossings and a heat map of the inner city, from the tracks of a day."""

import argparse
import os
import sys
import time

import numpy as np

os.environ["DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES"] = "0"

from dask.distributed import Client, LocalCluster, wait  # noqa: E402

CAMERAS = ["market", "station", "bridge", "theatre", "harbour", "college"]


def tracks_of(camera, day, people=60_000):
    """Positions of the people that a camera saw, in metres."""
    rng = np.random.default_rng(abs(hash((camera, day))) % 2**32)
    return rng.normal(250.0, 90.0, size=(people, 2))


def count_crossings(camera, day):
    """People that pass the zebra; a window of frames is kept while it counts."""
    tracks = tracks_of(camera, day)
    frames = np.ones((3, 1024, 1024))
    total = 0
    for start in range(0, len(tracks), 3_000):
        part = tracks[start : start + 3_000]
        total += int((np.abs(part[:, 0] - 250.0) < 2.0).sum())
        frames[start % 3] += 1.0
        time.sleep(0.25)
    return camera, total


def smooth(grid):
    grid = grid.copy()
    grid[1:-1] = (grid[:-2] + grid[1:-1] + grid[2:]) / 3
    return grid


def stitch_heatmap(day, steps=96):
    """Adds the quarters of an hour up to a map; every quarter is laid over the ones before it."""
    layers = []
    ground = np.ones((1500, 1500))
    for step in range(steps):
        rng = np.random.default_rng(step)
        layer = ground * rng.random()
        layers.append(smooth(layer))
        time.sleep(0.12)
    return day, np.mean(layers, axis=0)


def dwell_times(camera, day):
    tracks = tracks_of(camera, day, people=20_000)
    time.sleep(1.0)
    return camera, float(np.hypot(*tracks.T).mean())


def report(counts, dwell):
    for camera, total in sorted(counts):
        print(f"{camera:10} {total:7d} {dict(dwell)[camera]:8.1f}")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--day", default="2026-05-04")
    options = parser.parse_args(arguments)
    cluster = LocalCluster(
        n_workers=1, threads_per_worker=3, memory_limit="480MB", dashboard_address=":0"
    )
    client = Client(cluster)
    try:
        dwell = client.gather(
            [
                client.submit(
                    dwell_times, camera, options.day, key=f"dwell_times-{camera}"
                )
                for camera in CAMERAS
            ]
        )
        print("dwell times of", len(dwell), "cameras", flush=True)
        counts = [
            client.submit(
                count_crossings, camera, options.day, key=f"count_crossings-{camera}"
            )
            for camera in CAMERAS
        ]
        heat = client.submit(
            stitch_heatmap,
            options.day,
            key=f"stitch_heatmap-{options.day}",
            priority=10,
        )
        wait([heat, *counts], timeout=50)
        report(client.gather(counts), dwell)
        day, grid = heat.result()
        print("heat map of", day, "peaks at", round(float(grid.max()), 3))
    finally:
        client.close()
        cluster.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
