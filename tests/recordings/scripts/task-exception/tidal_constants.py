"""Predict high water for the harbours of the coast from their harmonic constants.

Two roles in one file: the loader parses the constants of all gauges and publishes
them on the cluster, the predictor takes them from there.
"""

import argparse
import csv
import logging
import math
import os
import random
import subprocess
import sys
import tempfile
import time

from distributed import Client

log = logging.getLogger("tides")
DATASET = "tidal_constants"
CONSTITUENTS = ("M2", "S2", "N2", "K1", "O1")


def write_gauges(folder, count):
    """One CSV per gauge: constituent, amplitude in metres, phase lag in degrees."""
    rng = random.Random(11)
    for number in range(count):
        with open(
            os.path.join(folder, f"gauge_{number:02d}.csv"), "w", newline=""
        ) as out:
            rows = csv.writer(out)
            for name in CONSTITUENTS:
                phase = rng.uniform(0, 359)
                if number == 6 and name == "K1":
                    phase += 412.5
                rows.writerow([name, round(rng.uniform(0.05, 2.4), 3), round(phase, 1)])


def parse_gauge(path):
    constants = {}
    with open(path, newline="") as lines:
        for name, amplitude, phase in csv.reader(lines):
            lag = float(phase)
            if not 0 <= lag < 360:
                raise ValueError(
                    f"{os.path.basename(path)}: phase lag {lag} of {name} outside 0..360"
                )
            constants[name] = (float(amplitude), math.radians(lag))
    return constants


def highest(constants, day):
    speeds = dict(M2=28.98, S2=30.0, N2=28.44, K1=15.04, O1=13.94)
    level = -9.0
    for minute in range(0, 1440, 10):
        hours = day * 24 + minute / 60
        level = max(
            level,
            sum(
                a * math.cos(math.radians(speeds[n] * hours) - g)
                for n, (a, g) in constants.items()
            ),
        )
    return round(level, 2)


def load(args):
    paths = sorted(
        os.path.join(args.folder, n)
        for n in os.listdir(args.folder)
        if n.endswith(".csv")
    )
    with Client(args.scheduler, timeout=20) as client:
        futures = client.map(parse_gauge, paths, pure=False)
        try:
            parsed = client.gather(futures)
        except Exception as exc:
            log.error("loader: giving up, %s", exc)
            return 4
        client.publish_dataset(parsed, name=DATASET)
        log.info("published %d gauges", len(parsed))
    return 0


def predict(args):
    dask = [sys.executable, "-m", "dask"]
    with tempfile.TemporaryDirectory() as folder:
        contact = os.path.join(folder, "contact.json")
        processes = [
            subprocess.Popen(
                [
                    *dask,
                    "scheduler",
                    "--port",
                    "0",
                    "--host",
                    "127.0.0.1",
                    "--dashboard-address",
                    "127.0.0.1:0",
                    "--scheduler-file",
                    contact,
                ]
            )
        ]
        try:
            for number in range(2):
                processes.append(
                    subprocess.Popen(
                        [
                            *dask,
                            "worker",
                            "--scheduler-file",
                            contact,
                            "--nthreads",
                            "1",
                            "--no-nanny",
                            "--no-dashboard",
                            "--name",
                            f"tide-{number}",
                            "--memory-limit",
                            "250MiB",
                            "--local-directory",
                            folder,
                        ]
                    )
                )
            with Client(scheduler_file=contact, timeout=60) as client:
                client.wait_for_workers(2, timeout=100)
                write_gauges(folder, args.gauges)
                began = time.time()
                subprocess.run(
                    [
                        sys.executable,
                        os.path.abspath(__file__),
                        "--role",
                        "loader",
                        "--folder",
                        folder,
                        "--scheduler",
                        client.scheduler.address,
                    ]
                )
                log.info("loader took %.1f s", time.time() - began)

                constants = client.get_dataset(DATASET)
                futures = [
                    client.submit(highest, gauge, day)
                    for gauge in constants
                    for day in range(args.days)
                ]
                levels = client.gather(futures)
                log.info("highest water of the period: %.2f m", max(levels))
        finally:
            for process in reversed(processes):
                process.terminate()
            for process in processes:
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--role", choices=("loader", "predictor"), default="predictor")
    parser.add_argument("--folder")
    parser.add_argument("--scheduler")
    parser.add_argument("--gauges", type=int, default=9)
    parser.add_argument("--days", type=int, default=7)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    return load(args) if args.role == "loader" else predict(args)


if __name__ == "__main__":
    sys.exit(main())
