"""Morning pictures of a ski resort: one thumbnail per webcam, and one panorama of the summit for the front page."""

import logging
import os
import sys
import time

os.environ.setdefault("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")

import numpy as np  # noqa: E402
from distributed import Client, LocalCluster, as_completed  # noqa: E402

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)-7s %(message)s"
)
log = logging.getLogger("webcams")

CAMERAS = [f"lift-{n:02d}" for n in range(1, 25)]


def grab_frame(camera, height=480, width=640):
    seed = sum(camera.encode())
    rng = np.random.default_rng(seed)
    return rng.integers(0, 255, size=(height, width, 3), dtype="uint8")


def make_thumbnail(camera):
    """Every eighth pixel, averaged over a second of video."""
    frames = []
    for _ in range(4):
        frames.append(grab_frame(camera))
        time.sleep(0.15)
    return camera, np.mean(frames, axis=0)[::8, ::8].astype("uint8")


def stitch_panorama(camera, steps=24):
    """Turns the summit camera once around and lays the views side by side."""
    views = []
    for step in range(steps):
        frame = grab_frame(camera, 1080, 1920)
        weights = np.ones(frame.shape, dtype="float64") * (step + 1)
        views.append(frame * weights)
        time.sleep(0.12)
    strip = np.concatenate([v[:, ::16] for v in views], axis=1)
    return camera, (strip / steps).astype("uint8")


def publish(pictures):
    log.info("front page has %d pictures", len(pictures))


def main():
    cluster = LocalCluster(
        n_workers=1, threads_per_worker=4, memory_limit="450MB", dashboard_address=None
    )
    client = Client(cluster)
    pictures, missing = {}, {}
    try:
        jobs = client.map(make_thumbnail, CAMERAS[:6])
        jobs.append(client.submit(stitch_panorama, "summit"))
        jobs += client.map(make_thumbnail, CAMERAS[6:])
        for future in as_completed(jobs):
            error = future.exception()
            if error is None:
                camera, picture = future.result()
                pictures[camera] = picture
            else:
                missing[future.key] = error
                log.warning("no picture from %s: %s", future.key, type(error).__name__)
    finally:
        client.close()
        cluster.close()
    publish(pictures)
    if missing:
        first = next(iter(missing.values()))
        raise RuntimeError(
            f"{len(missing)} of {len(jobs)} pictures are missing"
        ) from first


if __name__ == "__main__":
    sys.exit(main())
