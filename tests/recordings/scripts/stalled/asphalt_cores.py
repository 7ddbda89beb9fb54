"""Scan drilled asphalt cores and grade the strips while they come in."""

import argparse
import logging
import sys
import time

import numpy as np
from distributed import Client, LocalCluster, Queue, wait

log = logging.getLogger("asphalt")

STRIPS = "strips"
BUFFER = 6
STRIPS_PER_CORE = 25


def scan_strip(core, index):
    """Porosity and share of binder of one strip of a core."""
    rng = np.random.default_rng(core * 1000 + index)
    image = rng.random((120, 120))
    return {
        "core": core,
        "index": index,
        "porosity": float((image < 0.06).mean()),
        "binder": float(image.mean()),
    }


def scan_core(core):
    """Scans a core from top to bottom; strips go to the graders at once."""
    strips = Queue(STRIPS)
    for index in range(STRIPS_PER_CORE):
        strips.put(scan_strip(core, index))
    return core


def grade_strips(grader, count):
    """Takes its share of the strips and counts the bad ones."""
    strips = Queue(STRIPS)
    bad = 0
    for _ in range(count):
        strip = strips.get(timeout=60)
        if strip["porosity"] > 0.065 or strip["binder"] < 0.49:
            bad += 1
    return {"grader": grader, "graded": count, "bad": bad}


def calibrate(client):
    """A few reference strips first: the scanner must agree with the lab."""
    reference = client.gather(client.map(scan_strip, [0] * 8, range(8)))
    porosity = np.mean([r["porosity"] for r in reference])
    if not 0.05 < porosity < 0.07:
        raise ValueError(f"scanner is off: porosity {porosity:.3f}")
    log.info("scanner is calibrated, porosity %.3f", porosity)


def wait_for_first_strips(strips, limit=60):
    end = time.monotonic() + limit
    while strips.qsize() < BUFFER and time.monotonic() < end:
        time.sleep(0.5)
    log.info("%d strips wait for the graders", strips.qsize())


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cores", type=int, default=4)
    parser.add_argument("--graders", type=int, default=2)
    parser.add_argument(
        "--patience", type=float, default=20, help="seconds for the grading"
    )
    args = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        calibrate(client)
        strips = Queue(STRIPS, client=client, maxsize=BUFFER)
        scans = client.map(scan_core, range(1, args.cores + 1))
        wait_for_first_strips(strips)

        share = args.cores * STRIPS_PER_CORE // args.graders
        grades = client.map(grade_strips, range(args.graders), count=share)
        log.info("%d graders take %d strips each", args.graders, share)
        wait(grades, timeout=args.patience)
        client.gather(scans)
        report = client.gather(grades)
        log.info("bad strips: %d", sum(r["bad"] for r in report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
