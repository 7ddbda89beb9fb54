"""Colour statistics of scanned comic pages."""

import logging
import sys
import time

import numpy as np
from dask.distributed import Client, LocalCluster, as_completed, get_worker

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
)
log = logging.getLogger("comic_pages")

ISSUES = 12
PAGES = 4


def scan(issue, page):
    rng = np.random.default_rng(issue * 100 + page)
    tile = rng.integers(0, 255, size=(500, 400, 3), dtype=np.uint8)
    time.sleep(0.3)
    return np.tile(tile, (8, 6, 1))


def page_raster(issue, page):
    """Pixels of a page."""
    worker = get_worker()
    if not hasattr(worker, "rasters"):
        worker.rasters = {}
    if (issue, page) not in worker.rasters:
        worker.rasters[issue, page] = scan(issue, page)
    return worker.rasters[issue, page]


def page_palette(issue, page):
    raster = page_raster(issue, page)
    return raster[::16, ::16].reshape(-1, 3).mean(axis=0).round(1)


def contrast(issue, page):
    raster = page_raster(issue, page)[::16, ::16]
    return float(raster.std())


def main():
    with LocalCluster(
        n_workers=1, threads_per_worker=1, memory_limit="560MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            wanted = [(issue, page) for issue in range(ISSUES) for page in range(PAGES)]
            palettes = [
                client.submit(page_palette, i, p, key=f"page_palette-{i}-{p}")
                for i, p in wanted
            ]
            contrasts = [
                client.submit(contrast, i, p, key=f"contrast-{i}-{p}")
                for i, p in wanted
            ]
            log.info("%d pages", len(wanted))
            done = 0
            for future in as_completed(palettes + contrasts, timeout=34):
                future.result()
                done += 1
                if done % 16 == 0:
                    log.info("%d of %d", done, 2 * len(wanted))
    return 0


if __name__ == "__main__":
    sys.exit(main())
