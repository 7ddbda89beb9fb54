"""Nightly chondrule statistics of the meteorite collection.

Every thin section was scanned in many slices.  For each slice we segment the
bright inclusions, measure them, and write one line per specimen into the
report that curation reads in the morning.
"""

import argparse
import logging
import sys
import tempfile
import time
from collections import defaultdict

import dask
import numpy as np
from distributed import Client, KilledWorker, LocalCluster, WorkerPlugin, get_worker

log = logging.getLogger("meteorites")

SPECIMENS = ["allende", "murchison", "orgueil", "tagish", "ivuna", "winchcombe"]
SLICES_PER_SPECIMEN = 8
EDGE = 1250  # pixels


class SliceStore(WorkerPlugin):
    """Scans by (specimen, number): neighbouring slices are needed twice."""

    name = "slice-store"

    def setup(self, worker):
        self.scans = {}

    def teardown(self, worker):
        self.scans.clear()

    def get(self, specimen, number):
        wanted = (specimen, number)
        if wanted not in self.scans:
            self.scans[wanted] = load_scan(specimen, number)
        return self.scans[wanted]


def load_scan(specimen, number):
    """The scanner's archive is simulated: seed and texture are all we need."""
    seed = abs(hash((len(specimen), specimen[0], number))) % 2**32
    rng = np.random.default_rng(seed)
    scan = rng.random((EDGE, EDGE))
    scan[:: 7 + number % 5] *= 0.4
    return scan


def threshold(scan):
    sample = scan[::25, ::25]
    return float(sample.mean() + 1.5 * sample.std())


def measure_slice(specimen, number):
    store = get_worker().plugins[SliceStore.name]
    here = store.get(specimen, number)
    level = threshold(here)
    bright = 0
    for row in range(0, EDGE, 50):
        bright += int((here[row : row + 50] > level).sum())
        time.sleep(0.02)  # the segmentation library paces itself
    drift = 0.0
    if number:
        before = store.get(specimen, number - 1)
        drift = float(abs(here[::50, ::50] - before[::50, ::50]).mean())
    return {"specimen": specimen, "slice": number, "bright": bright, "drift": drift}


def summarise(rows):
    per_specimen = defaultdict(list)
    for row in rows:
        per_specimen[row["specimen"]].append(row)
    for specimen, found in sorted(per_specimen.items()):
        area = sum(r["bright"] for r in found) / (len(found) * EDGE * EDGE)
        drift = max(r["drift"] for r in found)
        log.info(
            "%-12s %2d slices, inclusions %.3f, drift %.3f",
            specimen,
            len(found),
            area,
            drift,
        )


def start_cluster(scratch):
    # Paused workers once kept the report waiting until noon, so no pausing.
    # A task that loses two workers is not worth a third.
    dask.config.set(
        {
            "distributed.worker.memory.pause": False,
            "distributed.scheduler.allowed-failures": 1,
        }
    )
    return LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        memory_limit="240MiB",
        dashboard_address="127.0.0.1:0",
        local_directory=scratch,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--specimen", action="append", choices=SPECIMENS)
    parser.add_argument("--slices", type=int, default=SLICES_PER_SPECIMEN)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")

    with tempfile.TemporaryDirectory(prefix="slices-") as scratch:
        with start_cluster(scratch) as cluster, Client(cluster) as client:
            client.wait_for_workers(2, timeout=60)
            client.register_plugin(SliceStore())
            jobs = [
                (s, n) for s in args.specimen or SPECIMENS for n in range(args.slices)
            ]
            log.info("measuring %d slices", len(jobs))
            futures = [
                client.submit(measure_slice, s, n, key=f"measure_slice-{s}-{n:02d}")
                for s, n in jobs
            ]
            try:
                summarise(client.gather(futures))
            except KilledWorker as exc:
                log.error("no report tonight: %s", exc)
                client.cancel(futures)  # leave the cluster in order
                client.wait_for_workers(2, timeout=60)
                raise
    log.info("report complete")
    return 0


if __name__ == "__main__":
    sys.exit(main())
