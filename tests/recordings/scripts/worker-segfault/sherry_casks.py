"""Weekly density report of a sherry solera.

Every cask carries a logging hydrometer.  The bodega's collector stores the readings of a week as one binary blob
per cask, with a small header that says where the samples start and how many there are.  The job unpacks the blobs
on the workers, works out the mean density and the drift, and writes one CSV for the blending room.
"""

import argparse
import csv
import ctypes
import logging
import random
import struct
import sys
import tempfile
import time
from pathlib import Path

import dask
from distributed import Client, KilledWorker, LocalCluster, as_completed

log = logging.getLogger("solera")

HEADER = "<4sqq"  # magic, offset of the first sample, number of samples
WEEK = 7 * 24


def write_week(folder, casks, seed):
    """Stand-in for the collector: one blob per cask."""
    rng = random.Random(seed)
    for number in range(casks):
        samples = [0.98 + rng.random() / 50 for _ in range(WEEK)]
        offset = struct.calcsize(HEADER)
        if number == 17:
            # logger of this cask was reset in the middle of the week
            offset = 0x7FF0_0000_0000
        blob = struct.pack(HEADER, b"HYD1", offset, WEEK) + struct.pack(
            f"<{WEEK}d", *samples
        )
        (folder / f"cask_{number:03d}.hyd").write_bytes(blob)


def unpack_samples(blob):
    """Copy the samples out of the blob without a Python loop."""
    magic, offset, count = struct.unpack_from(HEADER, blob)
    if magic != b"HYD1":
        raise ValueError(f"not a hydrometer blob: {magic!r}")
    source = ctypes.create_string_buffer(blob, len(blob))
    target = (ctypes.c_double * count)()
    ctypes.memmove(target, ctypes.addressof(source) + offset, count * 8)
    return list(target)


def cask_density(path):
    samples = unpack_samples(Path(path).read_bytes())
    time.sleep(0.15)  # the calibration table is looked up sample by sample
    half = len(samples) // 2
    drift = sum(samples[half:]) / half - sum(samples[:half]) / half
    return {
        "cask": Path(path).stem,
        "mean": sum(samples) / len(samples),
        "drift": drift,
    }


def collect(client, paths):
    futures = {
        client.submit(cask_density, str(path), key=f"cask_density-{path.stem}"): path
        for path in paths
    }
    rows, missing = [], []
    for future in as_completed(futures):
        path = futures[future]
        try:
            rows.append(future.result())
        except KilledWorker:
            log.error("no density for %s", path.stem)
            missing.append(path.stem)
    return rows, missing


def write_report(rows, target):
    with target.open("w", newline="") as handle:
        writer = csv.DictWriter(handle, ["cask", "mean", "drift"])
        writer.writeheader()
        writer.writerows(sorted(rows, key=lambda row: row["cask"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--casks", type=int, default=30)
    parser.add_argument("--report", type=Path, default=Path("densities.csv"))
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")

    dask.config.set({"distributed.scheduler.allowed-failures": 1})
    with tempfile.TemporaryDirectory(prefix="solera-") as name:
        folder = Path(name)
        write_week(folder, args.casks, seed=1887)
        paths = sorted(folder.glob("*.hyd"))
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster) as client:
                rows, missing = collect(client, paths)

    write_report(rows, args.report)
    log.info("%d of %d casks in %s", len(rows), args.casks, args.report)
    if missing:
        log.error(
            "the blending room needs every cask, missing: %s",
            ", ".join(sorted(missing)),
        )
        sys.exit(2)


if __name__ == "__main__":
    main()
