"""Lichen monitoring: photographs of permanent plots -> cover per species and air-quality index.

The photo server is known for its moods, so the job is made to live with them: reads are
tried again, plots that cannot be used are left out, and the pool is restarted between the
two halves of the night.
"""

import argparse
import logging
import os
import tempfile
import time
import warnings

import numpy as np
from dask.distributed import (
    CancelledError,
    Client,
    LocalCluster,
    as_completed,
    get_worker,
)

log = logging.getLogger("lichen")

BLURRED = {4, 11}
SPECIES = ["xanthoria", "physcia", "parmelia", "evernia", "usnea"]


def fetch_photo(plot: int, spool: str) -> np.ndarray:
    """Photograph of a plot; every third answer of the server is a broken handle at first."""
    marker = os.path.join(spool, f"asked-{plot}")
    if plot % 3 == 0 and not os.path.exists(marker):
        open(marker, "w").close()
        raise OSError(116, "Stale file handle", f"/photos/plot-{plot:03d}.tif")
    time.sleep(0.2)
    return np.random.default_rng(plot).random((160, 160, 3))


def cover(photo: np.ndarray, plot: int) -> dict:
    if plot in BLURRED:
        raise ValueError(f"plot {plot}: photograph is blurred, sharpness 0.02 < 0.10")
    grey = photo.mean(axis=2)
    edges = np.linspace(0.2, 0.8, len(SPECIES) + 1)
    hist, _ = np.histogram(grey, bins=edges)
    return {"plot": plot, **dict(zip(SPECIES, (hist / grey.size).round(3).tolist()))}


def mosaic(megabytes: int) -> float:
    """Overview picture of the whole site, kept in memory while it is levelled."""
    canvas = np.ones(megabytes * 131_072)
    warnings.warn("overview is not georeferenced", RuntimeWarning)
    log_to = get_worker()
    log_to.log_event("lichen", {"mosaic_mb": megabytes})
    time.sleep(3)
    return float(canvas.mean())


def slow_segmentation(plot: int) -> int:
    time.sleep(120)
    return plot


def half_night(
    client: Client, plots: range, spool: str
) -> tuple[list[dict], list[int]]:
    photos = [
        client.submit(fetch_photo, p, spool, retries=3, key=f"fetch-{p:03d}")
        for p in plots
    ]
    futs = {
        client.submit(cover, ph, p, key=f"cover-{p:03d}"): p
        for ph, p in zip(photos, plots)
    }
    rows, unusable = [], []
    for fut in as_completed(futs):
        try:
            rows.append(fut.result())
        except ValueError as exc:
            log.warning("left out: %s", exc)
            unusable.append(futs[fut])
    return rows, unusable


def main() -> None:
    ap = argparse.ArgumentParser()
    ap.add_argument("--plots", type=int, default=24)
    args = ap.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    with (
        tempfile.TemporaryDirectory(prefix="lichen-") as spool,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="300MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        half = args.plots // 2
        rows, unusable = half_night(client, range(half), spool)
        log.info("overview mean %.2f", client.submit(mosaic, 80).result(timeout=120))

        extra = client.map(slow_segmentation, range(3))
        time.sleep(1.5)
        log.warning("segmentation is over its budget, cancelled")
        client.cancel(extra, reason="nightly budget")
        try:
            client.gather(extra)
        except CancelledError as exc:
            log.error("no segmentation tonight: %s", type(exc).__name__)
        del extra

        log.warning("restarting the pool between the halves")
        client.restart(timeout=90)
        more, bad = half_night(client, range(half, args.plots), spool)
        rows += more
        unusable += bad
        first = next(iter(client.scheduler_info()["workers"]))
        client.retire_workers([first])
        log.warning("worker %s given back early", first)
        index = client.submit(
            lambda rs: sum(r["usnea"] + r["evernia"] for r in rs) / len(rs), rows
        )
        print(
            f"air-quality index {index.result(timeout=120):.3f} from {len(rows)} plots, "
            f"{len(unusable)} unusable: {sorted(unusable)}"
        )


if __name__ == "__main__":
    main()
