"""Excavated volume of the quarries, from the drone survey of the evening.

Differences of elevation models, block by block; blocks stay on the workers
until the volumes of all layers are known.
"""

import argparse
import logging
import sys
import time

import dask
import numpy as np
from dask.distributed import Client, LocalCluster, wait

log = logging.getLogger("quarry_volumes")

SIDE = 1000
SETTINGS = {
    "distributed.worker.memory.target": 0.50,
    "distributed.worker.memory.spill": 0.60,
    "distributed.worker.memory.pause": 0.90,
    "distributed.worker.memory.terminate": 0.98,
}


def block_model(block, epoch):
    """Elevation (m) of a block of the survey."""
    rng = np.random.default_rng(block * 10 + epoch)
    ramp = np.linspace(240, 265, SIDE)
    time.sleep(0.3)
    return ramp[None, :] + rng.normal(0, 0.05, size=(SIDE, SIDE)) - epoch * 0.8


def difference(before, after):
    return before - after


def volume(diff, cell=0.25):
    return float(diff.sum() * cell * cell)


def full_mosaic(side):
    """One mosaic of the whole site if it fits, else the sum over strips."""
    try:
        mosaic = np.ones((side, side), dtype=np.float64)
        return "mosaic", float(mosaic[0, 0])
    except MemoryError as e:
        strips = sum(float(np.ones(1000).sum()) for _ in range(20))
        return f"strips ({type(e).__name__})", strips


def geoid_offset(attempt_log, site):
    """Offset from the geodesy table; some sites are not in it."""
    table = {"east pit": 46.21, "west pit": 46.19}
    return table[site]


def offsets(client, sites):
    futures = {s: client.submit(geoid_offset, None, s) for s in sites}
    out = {}
    for site, future in futures.items():
        try:
            out[site] = future.result()
        except KeyError as e:
            log.warning("no geoid offset for %s (%r), the mean is used", site, e)
            out[site] = 46.20
    return out


def survey(client, blocks):
    before = client.map(block_model, range(blocks), epoch=0)
    after = client.map(block_model, range(blocks), epoch=1)
    diffs = client.map(difference, before, after)
    wait(diffs)
    stored = sum(
        w["metrics"]["spilled_bytes"]["disk"]
        for w in client.scheduler_info()["workers"].values()
    )
    log.info("%d blocks, %.0f MB of them on disk", blocks, stored / 1e6)
    return sum(client.gather(client.map(volume, diffs)))


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--blocks", type=int, default=12)
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    dask.config.set(SETTINGS)

    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            memory_limit="340MB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        log.info("offsets %s", offsets(client, ["east pit", "west pit", "old pit"]))
        how, _ = client.submit(full_mosaic, 20_000_000).result()
        log.info("mosaic of the site by %s", how)

        # models of yesterday are of no use: fresh workers for the survey
        stale = client.map(block_model, range(100, 104), epoch=0)
        client.restart(timeout=60)
        log.info("workers restarted, stale blocks are %s", {f.status for f in stale})

        cubic = survey(client, args.blocks)
        log.info("excavated: %.0f cubic metres", cubic)

        extra = client.map(block_model, range(200, 206), epoch=2)
        client.cancel(extra)
        time.sleep(1)
        log.info("extra blocks: %s", {f.status for f in extra})
    return 0


if __name__ == "__main__":
    sys.exit(main())
