"""Nightly lane matrix of the parcel network.

Counts shipments from depot to depot over the scan feeds of the day, and
writes the lane matrix (origin x destination) that the planners load in the
morning.  Runs on the batch host, where every job has a memory quota.
"""

import argparse
import logging
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

log = logging.getLogger("parcel_lanes")

FEEDS = ["north", "south", "east", "west", "islands", "partner"]
ROWS = 14_000


def write_feeds(folder):
    """Stand-in for the nightly transfer of the scan feeds."""
    rng = np.random.default_rng(41)
    for feed in FEEDS:
        if feed == "partner":
            a = [f"PX-{i:05d}" for i in rng.integers(0, 40_000, ROWS)]
            b = [f"PX-{i:05d}" for i in rng.integers(0, 40_000, ROWS)]
        else:
            a = [f"D{i:04d}" for i in rng.integers(0, 900, ROWS)]
            b = [f"D{i:04d}" for i in rng.integers(0, 900, ROWS)]
        frame = pd.DataFrame(
            {"origin": a, "dest": b, "kg": rng.gamma(2.0, 1.4, ROWS).round(2)}
        )
        frame.to_csv(folder / f"scans_{feed}.csv", index=False)


def apply_quota(mib):
    """The quota of the batch host, for the data segment of this process."""
    limit = mib * 1024 * 1024
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
    log.info("quota: %d MiB", mib)


def count_lanes(path):
    """(origin, destination) -> number of shipments, for one feed."""
    frame = pd.read_csv(path, dtype={"origin": "str", "dest": "str"})
    frame = frame[frame.kg > 0]
    time.sleep(1.0)
    lanes = frame.groupby(["origin", "dest"]).size()
    return {pair: int(n) for pair, n in lanes.items()}


def heaviest(path):
    frame = pd.read_csv(path)
    time.sleep(1.5)  # the weighing station is asked for its calibration
    return Path(path).name, float(frame.kg.max())


def merge_counts(parts):
    total = Counter()
    for part in parts:
        total.update(part)
    return total


def lane_matrix(total):
    """Dense matrix in the order of the depot codes."""
    codes = sorted({c for pair in total for c in pair})
    position = {c: i for i, c in enumerate(codes)}
    log.info("%d depot codes, %d lanes with traffic", len(codes), len(total))
    matrix = np.zeros((len(codes), len(codes)), dtype=np.float64)
    for (a, b), n in total.items():
        matrix[position[a], position[b]] = n
    return codes, matrix


def busiest(codes, matrix, n=5):
    flat = np.argsort(matrix, axis=None)[::-1][:n]
    for a, b in zip(*np.unravel_index(flat, matrix.shape)):
        yield codes[a], codes[b], int(matrix[a, b])


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--quota", type=int, default=1536, help="MiB")
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    with tempfile.TemporaryDirectory(prefix="lanes-") as tmp:
        folder = Path(tmp)
        write_feeds(folder)
        paths = sorted(str(p) for p in folder.glob("scans_*.csv"))
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="300MB",
                dashboard_address=":0",
            ) as cluster,
            Client(cluster) as client,
        ):
            apply_quota(args.quota)
            counts = client.map(count_lanes, paths)
            heavy = client.map(heaviest, paths)
            for name, kg in client.gather(heavy):
                log.info("%-20s heaviest parcel %.1f kg", name, kg)
            total = merge_counts(client.gather(counts))
            codes, matrix = lane_matrix(total)
            for a, b, n in busiest(codes, matrix):
                log.info("%s -> %s: %d", a, b, n)
            np.save(folder / "lanes.npy", matrix)
    return 0


if __name__ == "__main__":
    sys.exit(main())
