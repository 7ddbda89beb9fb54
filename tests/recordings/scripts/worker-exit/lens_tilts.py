"""Re-evaluate the tilt of every lens of the day's production.

The evaluation itself is the bench's old command line program; here its
entry point is called lens by lens on the cluster instead of by a shell loop.
"""

import argparse
import csv
import logging
import math
import sys
import tempfile
import time
from pathlib import Path

from dask.distributed import Client, LocalCluster, as_completed

log = logging.getLogger("lens_tilts")


# --- bench program ---------------------------------------------------------


def bench_parser():
    parser = argparse.ArgumentParser(prog="lensbench")
    parser.add_argument("--serial", required=True)
    parser.add_argument("--radius", type=float, required=True, help="mm")
    parser.add_argument("--tilt-x", type=float, required=True, help="rad")
    parser.add_argument("--tilt-y", type=float, required=True, help="rad")
    parser.add_argument("--rays", type=int, default=20000)
    return parser


def bench_main(argv):
    args = bench_parser().parse_args(argv)
    angle = math.hypot(args.tilt_x, args.tilt_y)
    coma = 0.0
    for i in range(args.rays):
        phi = 2 * math.pi * i / args.rays
        coma += (args.tilt_x * math.cos(phi) + args.tilt_y * math.sin(phi)) ** 2
    coma = math.sqrt(coma / args.rays) * args.radius * 1000
    return {"serial": args.serial, "tilt_mrad": angle * 1000, "coma_um": coma}


# --- nightly job -----------------------------------------------------------


def write_measurements(path, n):
    """Stand-in for the export of the measuring machine."""
    with open(path, "w", newline="") as f:
        out = csv.writer(f)
        out.writerow(["serial", "radius", "tilt_x", "tilt_y"])
        for i in range(n):
            tx = 0.0011 * math.sin(i * 1.7)
            ty = 0.0009 * math.cos(i * 2.3)
            if i == 27:
                tx = -0.0000314
            out.writerow(
                [f"LN{40210 + i}", 25.4 + i % 3, float(f"{tx:.7f}"), float(f"{ty:.7f}")]
            )


def read_measurements(path):
    with open(path, newline="") as f:
        return list(csv.DictReader(f))


def evaluate(row):
    time.sleep(0.2)  # the archive of raw images is slow
    argv = ["--serial", row["serial"], "--radius", row["radius"]]
    argv += ["--tilt-x", row["tilt_x"], "--tilt-y", row["tilt_y"]]
    return bench_main(argv)


def classify(result):
    if result["coma_um"] > 20:
        return "reject"
    return "B" if result["tilt_mrad"] > 0.8 else "A"


def collect(futures):
    results = []
    for future, result in as_completed(futures, with_results=True):
        results.append(result)
        if len(results) % 10 == 0:
            log.info("%d lenses evaluated", len(results))
    return results


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--lenses", type=int, default=40)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    with tempfile.TemporaryDirectory(prefix="lens-") as tmp:
        export = Path(tmp) / "measurements.csv"
        write_measurements(export, args.lenses)
        rows = read_measurements(export)
    log.info("%d lenses in the export", len(rows))

    with (
        LocalCluster(
            n_workers=args.workers,
            threads_per_worker=1,
            memory_limit="250MB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        futures = [
            client.submit(evaluate, row, key=f"evaluate-{row['serial']}")
            for row in rows
        ]
        results = collect(futures)
    grades = [classify(r) for r in results]
    for grade in ("A", "B", "reject"):
        log.info("grade %-6s %d", grade, grades.count(grade))
    return 0


if __name__ == "__main__":
    sys.exit(main())
