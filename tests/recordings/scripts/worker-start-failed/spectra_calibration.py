"""Reduce the night's spectra: dark frames first, then the science exposures.

All workers get the spectrograph's calibration table when they start (a worker
plugin reads it).  The cluster is adaptive: between the exposure sets the
workers are given back to the other pipelines of the observatory.
"""

import argparse
import asyncio
import json
import logging
import os
import sys
import tempfile
import time

import numpy as np
from dask.distributed import Client, LocalCluster, WorkerPlugin, get_worker

log = logging.getLogger("spectra_calibration")

PIXELS = 2048


class CalibrationTable(WorkerPlugin):
    """Makes the calibration table available as worker.calibration."""

    name = "calibration-table"

    def __init__(self, path):
        self.path = path

    def setup(self, worker):
        with open(self.path) as f:
            table = json.load(f)
        worker.calibration = np.polynomial.Polynomial(table["wavelength"])


def write_table(directory):
    path = os.path.join(directory, "wavelength.json")
    with open(path, "w") as f:
        json.dump({"night": "2026-03-02", "wavelength": [3800.0, 1.95, 1.2e-5]}, f)
    return path


def dark_level(frame, seed):
    rng = np.random.default_rng([seed, frame])
    time.sleep(0.3)
    return float(np.median(rng.poisson(120, (64, PIXELS))))


def reduce_exposure(exposure, dark, seed):
    """Strongest line of one exposure in Angstrom."""
    rng = np.random.default_rng([seed, 1000 + exposure])
    flux = rng.poisson(400, PIXELS) - dark
    line = int(rng.integers(100, PIXELS - 100))
    flux[line - 2 : line + 3] += 900
    time.sleep(0.3)
    wave = get_worker().calibration(np.arange(PIXELS))
    return exposure, float(wave[int(np.argmax(flux))])


async def measure_darks(client, args):
    with tempfile.TemporaryDirectory(prefix="spectra-cal-") as staging:
        await client.register_plugin(CalibrationTable(write_table(staging)))
        futs = client.map(
            dark_level,
            range(args.darks),
            seed=args.seed,
            key=[f"dark_level-{i:03d}" for i in range(args.darks)],
        )
        levels = await client.gather(futs)
    log.info("%d dark frames, level %.1f", len(levels), np.mean(levels))
    return float(np.mean(levels))


async def next_set(client, args):
    """Wait for the telescope to deliver the science exposures."""
    t0 = time.monotonic()
    while time.monotonic() - t0 < args.pause:
        await asyncio.sleep(2)
        log.info(
            "waiting for exposures, %d workers",
            len(client.scheduler_info(n_workers=-1)["workers"]),
        )


async def reduce_all(client, dark, args):
    futs = client.map(
        reduce_exposure,
        range(args.exposures),
        dark=dark,
        seed=args.seed,
        key=[f"reduce_exposure-{i:03d}" for i in range(args.exposures)],
    )
    log.info("%d exposures submitted", len(futs))
    return await asyncio.wait_for(client.gather(futs), args.limit)


async def pipeline(args, work):
    async with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=":0",
        local_directory=work,
        asynchronous=True,
    ) as cluster:
        cluster.adapt(minimum=0, maximum=2, interval="1s", wait_count=3)
        async with Client(cluster, asynchronous=True) as client:
            dark = await measure_darks(client, args)
            await next_set(client, args)
            lines = await reduce_all(client, dark, args)
    for exposure, wave in lines:
        log.info("exposure %03d: strongest line at %.1f A", exposure, wave)


def main(argv=None):
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--darks", type=int, default=8)
    p.add_argument("--exposures", type=int, default=20)
    p.add_argument("--pause", type=float, default=14)
    p.add_argument("--seed", type=int, default=6)
    p.add_argument("--limit", type=float, default=25)
    args = p.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    with tempfile.TemporaryDirectory(prefix="spectra-") as work:
        asyncio.run(pipeline(args, work))
    return 0


if __name__ == "__main__":
    sys.exit(main())
