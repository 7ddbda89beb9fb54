#!/usr/bin/env python
"""Melt inclusions in lava samples: furnace readings, corrections and the composition table.

The furnace server drops connections now and then, so readings are retried; broken samples are
listed and left out. Speculative duplicates of slow samples are cancelled when the first is back.
"""

import argparse
import logging
import os
import sys
import tempfile
import time
import warnings

import numpy as np
from dask.distributed import Client, LocalCluster, Lock, as_completed, wait

log = logging.getLogger("lava_samples")

OXIDES = ["SiO2", "TiO2", "Al2O3", "FeO", "MgO", "CaO"]
BROKEN = {5, 19}
MIN_SAMPLES = 25


class BrokenSample(ValueError):
    pass


def read_furnace(sample, folder):
    """Raw counts; every fourth sample meets a dropped connection at its first reading."""
    time.sleep(0.2)
    mark = os.path.join(folder, f"read-{sample}")
    if sample % 4 == 0 and not os.path.exists(mark):
        open(mark, "w").close()
        raise ConnectionResetError(
            104, f"furnace server closed the connection, sample {sample}"
        )
    rng = np.random.default_rng(sample)
    return sample, rng.gamma(9.0, 40.0, len(OXIDES))


def composition(raw):
    """Weight per cent of the oxides."""
    sample, counts = raw
    if sample in BROKEN:
        raise BrokenSample(
            f"sample {sample}: inclusion leaked, total of {counts.sum():.0f} counts"
        )
    if counts.min() < 200:
        warnings.warn(
            f"sample {sample}: {OXIDES[int(counts.argmin())]} is near the detection limit",
            stacklevel=2,
        )
    return sample, np.round(counts / counts.sum() * 100, 2)


def calibrate(seconds):
    """Drift of the furnace; takes long when the furnace is cold."""
    time.sleep(seconds)
    return 1.0 + seconds / 1000


def first_drift(client):
    """Ask for the drift twice, take the first answer and cancel the other."""
    both = [
        client.submit(calibrate, s, key=f"calibrate-{n}")
        for n, s in enumerate((0.5, 15.0))
    ]
    first = next(iter(as_completed(both, timeout=60)))
    others = [f for f in both if f.key != first.key]
    client.cancel(others, reason="another calibration was faster")
    return first.result()


def table_is_free():
    """The composition table may be locked by the editors; then the job writes a side file."""
    editors = Lock("composition-table")
    editors.acquire()
    free = Lock("composition-table").acquire(timeout=2)
    editors.release()
    return free


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--samples", type=int, default=36)
    args = p.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    with (
        tempfile.TemporaryDirectory(prefix="lava-") as folder,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="250MB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(2, timeout=60)
        log.info("drift of the furnace: %.4f", first_drift(client))
        log.info("fresh processes for the readings")
        client.restart(timeout=60)
        raw = [
            client.submit(read_furnace, n, folder, key=f"read_furnace-{n}", retries=2)
            for n in range(args.samples)
        ]
        table = [
            client.submit(composition, r, key=f"composition-{n}")
            for n, r in enumerate(raw)
        ]
        wait(raw, timeout=120)
        one = next(iter(client.scheduler_info(n_workers=-1)["workers"]))
        log.warning(
            "worker %s is restarted, its half of the readings is taken again", one
        )
        client.restart_workers([one], timeout=60)
        good, bad = {}, []
        for n, future in enumerate(table):
            try:
                sample, percent = future.result(timeout=120)
                good[sample] = percent
            except BrokenSample as error:
                log.error("left out: %s", error)
                bad.append(n)
        if len(good) < MIN_SAMPLES:
            log.critical("only %d samples", len(good))
            return 1
        if not table_is_free():
            log.error("composition table is locked by the editors, writing a side file")
        with open(os.path.join(folder, "side.csv"), "w") as out:
            for sample, percent in sorted(good.items()):
                out.write(f"{sample},{','.join(map(str, percent))}\n")
        log.info(
            "%d samples written, %d left out as expected: %s", len(good), len(bad), bad
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
