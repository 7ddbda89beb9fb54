"""Monthly mosaic of the lagoon from the scenes of two satellites.

All scenes of the month are loaded and kept on the cluster, then the median of
the cloud-free pixels is taken per tile.  The disks of the image servers are
slow, so the cluster keeps to memory.
"""

import logging
import time
from contextlib import contextmanager

import dask
import numpy as np
from dask import delayed
from distributed import Client, LocalCluster, progress, wait  # noqa: F401

SIDE = 2200
logger = logging.getLogger("lagoon.mosaics")

MEMORY_POLICY = {
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": 0.80,
    "distributed.worker.memory.terminate": False,
    "distributed.scheduler.work-stealing": True,
}


@contextmanager
def image_cluster():
    with dask.config.set(MEMORY_POLICY):
        cluster = LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="320MB",
            dashboard_address=None,
        )
        client = Client(cluster)
        try:
            yield client
        finally:
            client.close()
            cluster.close()


@delayed
def load_scene(satellite, day):
    rng = np.random.default_rng(day * 10 + len(satellite))
    scene = rng.normal(120, 15, (SIDE, SIDE)).astype("f8")
    clouds = rng.random((SIDE // 10, SIDE // 10)) < 0.2
    scene[np.repeat(np.repeat(clouds, 10, 0), 10, 1)] = np.nan
    return scene


@delayed
def clear_share(scene):
    return float(np.isfinite(scene).mean())


@delayed
def median_strip(scenes, row):
    block = np.stack([scene[row : row + 20] for scene in scenes])
    return np.nanmedian(block, axis=0)


def month_of_scenes(days):
    for day in days:
        for satellite in ("north", "south"):
            yield load_scene(satellite, day)


def main():
    logging.basicConfig(level=logging.INFO)
    started = time.time()
    with image_cluster() as client:
        scenes = list(client.persist(list(month_of_scenes(range(1, 13)))))
        logger.info("loading %d scenes", len(scenes))
        shares = client.compute([clear_share(scene) for scene in scenes])
        try:
            wait(shares, timeout=25)
        except TimeoutError:
            late = [f.key for f in shares if not f.done()]
            logger.error(
                "%d of %d scenes not loaded after %.0f s",
                len(late),
                len(scenes),
                time.time() - started,
            )
            raise
        usable = [s for s, share in zip(scenes, client.gather(shares)) if share > 0.5]
        strips = client.compute(
            [median_strip(usable, row) for row in range(0, SIDE, 20)]
        )
        mosaic = np.vstack(client.gather(strips))
        np.save("mosaic.npy", mosaic)
        logger.info("mosaic %s from %d scenes", mosaic.shape, len(usable))


if __name__ == "__main__":
    main()
