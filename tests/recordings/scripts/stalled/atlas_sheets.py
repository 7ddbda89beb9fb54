"""Converts the atlas sheets with the command-line converter, several at a time."""

import argparse
import logging
import signal
import subprocess
import sys
import tempfile
import time

from dask.distributed import Client, LocalCluster, as_completed

log = logging.getLogger("atlas")

# sheet -> number of contour features
SHEETS = {
    "N31": 90,
    "N32": 120,
    "N33": 60,
    "N34": 150,
    "N35": 40,
    "N36": 5200,
    "N37": 80,
    "N38": 70,
}

CONVERTER = """
import sys, time
features = int(sys.argv[2])
for number in range(features):
    print(f"{sys.argv[1]}: feature {number:06d} reprojected, residual {number % 7 / 1000:.3f} m")
time.sleep(0.3)
"""


class Overtime(Exception):
    """The batch window is over."""


def ring(signum, frame):
    raise Overtime("atlas batch did not end in its window")


def count_features(sheet):
    time.sleep(0.1)
    return SHEETS[sheet]


def convert_sheet(sheet, features):
    started = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-c", CONVERTER, sheet, str(features)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    code = process.wait()
    lines = process.stdout.read().splitlines()
    if code:
        raise RuntimeError(f"converter ended with {code} for {sheet}: {lines[-3:]}")
    return {"sheet": sheet, "lines": len(lines), "seconds": time.monotonic() - started}


def index_sheet(converted):
    return f"{converted['sheet']}:{converted['lines']}"


def convert_all(client):
    futures = []
    for sheet in SHEETS:
        features = client.submit(count_features, sheet, key=f"count_features-{sheet}")
        converted = client.submit(
            convert_sheet, sheet, features, key=f"convert_sheet-{sheet}"
        )
        futures.append(
            client.submit(index_sheet, converted, key=f"index_sheet-{sheet}")
        )
    done = []
    for future in as_completed(futures):
        done.append(future.result())
        log.info("%d of %d sheets: %s", len(done), len(futures), done[-1])
    return sorted(done)


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--window", type=int, default=25, help="seconds of the batch window"
    )
    return parser.parse_args()


def main():
    args = parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    signal.signal(signal.SIGALRM, ring)
    with tempfile.TemporaryDirectory(prefix="atlas-") as base:
        with (
            LocalCluster(
                n_workers=args.workers,
                threads_per_worker=1,
                memory_limit="250MiB",
                dashboard_address=":0",
                local_directory=base,
            ) as cluster,
            Client(cluster) as client,
        ):
            signal.alarm(args.window)
            index = convert_all(client)
            signal.alarm(0)
            log.info("index of %d sheets written", len(index))
    return 0


if __name__ == "__main__":
    sys.exit(main())
