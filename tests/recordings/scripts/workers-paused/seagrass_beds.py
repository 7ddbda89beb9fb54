"""Seagrass cover from aerial strips: a centre line of every strip is kept for the mosaic."""

import logging
import tempfile
import time
from pathlib import Path

import dask
import numpy as np
from dask.distributed import Client, LocalCluster, wait

log = logging.getLogger("seagrass")
WIDTH, LENGTH = 2600, 2000


def fly(folder, strips):
    rng = np.random.default_rng(31)
    base = rng.integers(0, 255, 4096).astype("f4")
    np.save(folder / "texture.npy", base)
    return list(range(strips))


def develop(folder, strip):
    """Radiometric correction of the whole strip; the mosaic needs its centre only."""
    texture = np.load(Path(folder) / "texture.npy")
    image = np.resize(np.roll(texture, strip), (LENGTH, WIDTH)).astype("f8")
    image *= 1.0 + strip / 100
    time.sleep(0.4)
    return image[:, WIDTH // 2 - 4 : WIDTH // 2 + 4]


def cover(centre):
    return float((centre > 120).mean())


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    dask.config.set(
        {
            "distributed.worker.memory.target": False,
            "distributed.worker.memory.spill": False,
        }
    )
    with tempfile.TemporaryDirectory() as tmp:
        strips = fly(Path(tmp), 24)
        with (
            LocalCluster(
                n_workers=1,
                threads_per_worker=1,
                memory_limit="800MiB",
                dashboard_address=":0",
                local_directory=tmp,
            ) as cluster,
            Client(cluster) as client,
        ):
            centres = client.map(
                lambda s: develop(tmp, s), strips, key=[f"develop-{s}" for s in strips]
            )
            log.info("%d strips under way", len(centres))
            wait(centres, timeout=28)
            shares = client.gather(client.map(cover, centres))
            log.info("seagrass on %.1f %% of the strips", 100 * float(np.mean(shares)))


if __name__ == "__main__":
    main()
