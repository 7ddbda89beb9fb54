"""Render the day's CT volumes for the radiology viewer.

    python voxel_renders.py --volumes 5 --patience 7

Volumes are cut to slices on any worker; views are rendered where a graphics
card is declared.  Rendering is tried twice before the job gives up.
"""

import argparse
import concurrent.futures
import logging
import sys
import time
from asyncio import TimeoutError as AsyncTimeout

import numpy as np
from distributed import Client, LocalCluster, as_completed

log = logging.getLogger("voxels")

CONFIG = {
    "cluster": {
        "n_workers": 2,
        "threads_per_worker": 2,
        "memory_limit": "400MB",
        "dashboard_address": None,
        "resources": {"GPU": 1},
    },
    "render": {"resources": {"gpu": 1}, "angles": [0, 45, 90]},
}


def cut_slices(volume):
    """64 slices of one volume, contrast stretched."""
    rnd = np.random.default_rng(volume)
    block = rnd.random((64, 96, 96), dtype="float32")
    time.sleep(0.3)
    if volume == 3 and block.mean() > 0.4:
        # saturated scans come now and then and are taken as they are
        try:
            raise ValueError("contrast window outside of the histogram")
        except ValueError as e:
            logging.getLogger("voxels.cut").warning("volume %s: %s", volume, e)
    return (block - block.min()) / np.ptp(block)


def render_view(block, angle):
    """Maximum intensity projection."""
    time.sleep(0.2)
    axis = {0: 0, 45: 1, 90: 2}[angle]
    return angle, block.max(axis=axis).mean()


class Renderer:
    def __init__(self, client, patience):
        self.client = client
        self.patience = patience
        self.views = []

    def submit(self, slices, attempt):
        return [
            self.client.submit(
                render_view,
                s,
                angle,
                key=f"render_view-{n}-{angle}-{attempt}",
                resources=CONFIG["render"]["resources"],
            )
            for n, s in enumerate(slices)
            for angle in CONFIG["render"]["angles"]
        ]

    def attempt(self, slices, number):
        futures = self.submit(slices, number)
        try:
            for future in as_completed(futures, timeout=self.patience):
                self.views.append(future.result())
                log.info("view %d of %d", len(self.views), len(futures))
            return True
        except (TimeoutError, AsyncTimeout, concurrent.futures.TimeoutError):
            log.error(
                "attempt %d: only %d of %d views after %s s",
                number,
                len(self.views),
                len(futures),
                self.patience,
            )
            self.client.cancel(futures)
            return False


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--volumes", type=int, default=5)
    parser.add_argument("--patience", type=float, default=7)
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(levelname).1s %(name)s: %(message)s"
    )

    with LocalCluster(**CONFIG["cluster"]) as cluster, Client(cluster) as client:
        slices = client.map(cut_slices, range(args.volumes))
        means = client.gather(client.map(lambda s: float(s.mean()), slices))
        log.info("cut %d volumes, brightness %.3f", len(means), sum(means) / len(means))
        renderer = Renderer(client, args.patience)
        ok = renderer.attempt(slices, 1) or renderer.attempt(slices, 2)
        if not ok:
            sys.exit(
                f"rendering failed: {len(renderer.views)} views, graphics nodes too slow?"
            )
    print("rendered", len(renderer.views), "views")


if __name__ == "__main__":
    main()
