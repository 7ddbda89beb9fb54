"""Keograms of an all-sky camera: all frames of the night are held until the night is complete."""

import logging
import tempfile
import time
from pathlib import Path

import numpy as np
from dask.distributed import Client, LocalCluster, wait

log = logging.getLogger("aurora")


def expose(minute):
    rng = np.random.default_rng(minute)
    frame = rng.standard_normal((1600, 1600))
    frame[:, 700:900] += np.sin(minute / 9)
    time.sleep(0.2)
    return frame


def meridian(frame):
    strip = frame[:, 780:820]
    moonlit = strip[:, strip.mean(axis=0) > 1.05]
    if moonlit.size == 0:
        logging.getLogger("aurora").error(
            "no usable moonlight in this frame, going on without"
        )
    return strip.mean(axis=1) / max(1.0, moonlit.size)


def keogram(*columns):
    return np.column_stack(columns)


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    with tempfile.TemporaryDirectory() as tmp:
        with (
            LocalCluster(
                n_workers=1,
                threads_per_worker=1,
                memory_limit="450MiB",
                dashboard_address=":0",
                local_directory=tmp,
            ) as cluster,
            Client(cluster) as client,
        ):
            frames = client.map(expose, range(30))
            wait(frames)
            log.info("night complete, %d frames", len(frames))
            columns = client.map(meridian, frames)
            picture = client.submit(keogram, *columns).result()
        dull = int((np.ptp(picture, axis=0) < 0.5).sum())
        log.critical(
            "%d of %d minutes are dull, the night is poor", dull, picture.shape[1]
        )
        log.info("keogram of %d x %d", *picture.shape)
        np.save(Path(tmp) / "keogram.npy", picture)


if __name__ == "__main__":
    main()
