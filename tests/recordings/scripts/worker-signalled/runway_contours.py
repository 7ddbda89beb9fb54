"""Contours of airfield survey sheets, one task for each sheet, with a guard against endless traces."""

import argparse
import contextlib
import logging
import signal
import tempfile
import time

import numpy as np
from distributed import Client, LocalCluster

log = logging.getLogger("contours")

# sheet -> side of its grid
SHEETS = {
    "apron-n": 60,
    "apron-s": 60,
    "taxi-a": 80,
    "taxi-b": 80,
    "rwy-09l": 110,
    "rwy-27r": 110,
    "stopway": 50,
    "resa-east": 1600,
    "stand-12": 60,
    "stand-14": 60,
}


@contextlib.contextmanager
def time_guard(seconds):
    """Bound the time of one sheet."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def load_sheet(name, side):
    rng = np.random.default_rng(side)
    y, x = np.mgrid[0:side, 0:side] / side
    time.sleep(0.1)
    return name, 12 + 3 * np.sin(5 * x) * np.cos(4 * y) + rng.normal(
        0, 0.02, (side, side)
    )


def crossings(row, level):
    above = row > level
    return int((above[1:] != above[:-1]).sum())


def trace_contour(sheet, step, guard):
    name, heights = sheet
    counts = {}
    with time_guard(guard):
        for level in np.arange(heights.min(), heights.max(), step):
            total = 0
            for row in heights:
                total += crossings(row, level)
            for column in heights.T:
                total += crossings(column, level)
            counts[round(float(level), 2)] = total
    return name, counts


def steepest(traced):
    name, counts = traced
    level = max(counts, key=counts.get)
    return name, level, counts[level]


def trace_all(client, sheets, step, guard):
    results = []
    for name, side in sheets.items():
        sheet = client.submit(load_sheet, name, side)
        traced = client.submit(trace_contour, sheet, step, guard)
        results.append(client.submit(steepest, traced))
    return client.gather(results)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--step", type=float, default=0.02)
    parser.add_argument(
        "--guard", type=float, default=3.0, help="seconds for one sheet"
    )
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    with tempfile.TemporaryDirectory(prefix="contours-") as scratch:
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                dashboard_address=":0",
                local_directory=scratch,
            ) as cluster,
            Client(cluster) as client,
        ):
            log.info("trace %d sheets", len(SHEETS))
            for name, level, count in trace_all(client, SHEETS, args.step, args.guard):
                log.info("%-10s %6.2f m %6d crossings", name, level, count)


if __name__ == "__main__":
    main()
