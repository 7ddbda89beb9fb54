"""Pacing models for sprint heats, checked against controls that have to be rejected."""

import logging
import subprocess
import sys

import numpy as np
from dask.distributed import Client, LocalCluster, as_completed

log = logging.getLogger("sprint")


class Implausible(ValueError):
    pass


def pacing(heat, start, drift):
    rng = np.random.default_rng(heat)
    splits = start + drift * np.arange(10) + rng.normal(0, 0.01, 10)
    if (splits <= 0.6).any():
        raise Implausible(f"heat {heat}: ten metres in {splits.min():.2f} s")
    with np.errstate(all="raise"):
        return heat, float(np.log(splits).sum())


def clock_check():
    """The photo-finish clock must refuse a negative reaction time."""
    probe = subprocess.run(
        [sys.executable, "-c", "raise SystemExit('reaction time -0.02 refused')"]
    )
    if probe.returncode == 0:
        raise SystemExit("clock accepts negative reaction times")


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    clock_check()
    heats = [(h, 1.1, -0.02) for h in range(16)]
    controls = [(h, 0.9, -0.08) for h in range(100, 106)]
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        futures = {
            client.submit(pacing, *row, key=f"pacing-{row[0]}"): row[0]
            for row in heats + controls
        }
        accepted, rejected = {}, []
        for future in as_completed(futures):
            heat = futures[future]
            try:
                accepted[heat] = future.result()[1]
            except Implausible:
                log.exception("heat %d rejected", heat)
                rejected.append(heat)
    if sorted(rejected) != [h for h, *_ in controls]:
        log.error("controls: expected six rejections, got %s", rejected)
        sys.exit(2)
    log.info(
        "%d heats accepted, all %d controls rejected", len(accepted), len(rejected)
    )


if __name__ == "__main__":
    main()
