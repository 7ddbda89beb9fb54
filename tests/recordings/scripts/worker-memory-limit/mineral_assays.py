"""Mineral assays from X-ray diffraction.

Each drill sample has a scan. Scans are parsed, their background is removed and the mineral phases are fitted.
Samples from the old instrument come with its own angle step.
"""

import argparse
import logging
import os
import sys
import time

os.environ.setdefault("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "1")

import numpy as np  # noqa: E402
from dask.distributed import Client, LocalCluster, as_completed  # noqa: E402

log = logging.getLogger("assays")
PHASES = {
    "quartz": 26.6,
    "calcite": 29.4,
    "pyrite": 33.1,
    "dolomite": 30.9,
    "kaolinite": 12.4,
}


def instrument(sample):
    """Angle step in degrees; the old instrument wrote thousandths."""
    return 0.0009 if sample == "S023" else 0.02


def parse_scan(sample):
    rng = np.random.default_rng(int(sample[1:]))
    angles = np.arange(5.0, 70.0, instrument(sample))
    counts = 200 * np.exp(-angles / 30)
    for peak in PHASES.values():
        counts += rng.uniform(20, 900) * np.exp(-(((angles - peak) / 0.15) ** 2))
    time.sleep(0.15)
    return angles, rng.poisson(counts).astype(float)


def remove_background(scan, window=2.0):
    angles, counts = scan
    bins = ((angles - angles[0]) / window).astype(int)
    floor = np.array(
        [np.percentile(counts[bins == b], 10) for b in range(bins.max() + 1)]
    )
    time.sleep(0.1)
    return angles, counts - np.interp(
        angles, angles[0] + window * np.arange(len(floor)), floor
    )


def fit_phases(sample, scan):
    """Least squares against broadened reference patterns, one set of columns per width."""
    angles, counts = scan
    columns = []
    for width in np.linspace(0.08, 0.6, 320):
        for peak in PHASES.values():
            columns.append(np.exp(-(((angles - peak) / width) ** 2)))
    weights = [float(c @ counts) / float(c @ c) for c in columns]
    best = {}
    for k, phase in enumerate(PHASES):
        best[phase] = max(weights[k :: len(PHASES)])
    return sample, best


def parse_args():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--samples", type=int, default=40)
    ap.add_argument("--table", default="assays.txt")
    return ap.parse_args()


def write_table(path, assays):
    with open(path, "w") as f:
        for sample, best in sorted(assays.items()):
            f.write(
                sample + " " + " ".join(f"{p}={v:.0f}" for p, v in best.items()) + "\n"
            )


def main():
    args = parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=2, memory_limit="380MB", dashboard_address=":0"
    )
    client = Client(cluster)
    assays, lost = {}, []
    try:
        futures = {}
        for i in range(args.samples):
            s = f"S{i:03d}"
            scan = client.submit(parse_scan, s, key=f"parse_scan-{s}")
            flat = client.submit(remove_background, scan, key=f"remove_background-{s}")
            futures[client.submit(fit_phases, s, flat, key=f"fit_phases-{s}")] = s
        for future in as_completed(futures):
            if future.status == "error":
                lost.append((futures[future], future))
                log.error(
                    "%s not assayed: %s",
                    futures[future],
                    type(future.exception()).__name__,
                )
                continue
            sample, best = future.result()
            assays[sample] = best
        log.info("%d assayed, %d lost", len(assays), len(lost))
        for _, future in lost:
            future.result()
    finally:
        write_table(args.table, assays)
        client.close()
        cluster.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
