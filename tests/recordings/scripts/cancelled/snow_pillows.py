#!/usr/bin/env python
"""Snow pillows: water equivalent of the snow cover at every station, for the reservoir planners.

Pillows that report a fault code are skipped and listed; the planners interpolate them. Four
stations share a radio mast.
"""

import argparse
import logging
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
from dask.distributed import Client

log = logging.getLogger("snow_pillows")

PER_MAST = 4
FAULTS = {"E07": "fluid lost", "E12": "transducer frozen"}


class PillowFault(Exception):
    """The station answered, but its pillow reports a fault."""

    def __init__(self, station, code):
        super().__init__(
            f"station {station} reports {code} ({FAULTS.get(code, 'unknown')})"
        )
        self.station = station
        self.code = code


def station_code(station):
    return {9: "E07", 21: "E12"}.get(station)


def read_pillow(station, hours=48):
    """Pressure of the last hours in hectopascal above the empty pillow."""
    time.sleep(0.9)  # the radio link
    code = station_code(station)
    if code:
        raise PillowFault(station, code)
    rng = np.random.default_rng(station)
    return station, 12 + station * 0.7 + np.cumsum(rng.normal(0.02, 0.1, hours))


def water_equivalent(reading):
    """Millimetres of water, median of the last six hours."""
    station, pressure = reading
    return station, round(float(np.median(pressure[-6:])) * 10.197, 1)


def start_cluster(folder, workers):
    address_file = os.path.join(folder, "scheduler.json")
    dask = [sys.executable, "-m", "dask"]
    procs = [
        subprocess.Popen(
            [
                *dask,
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--dashboard-address",
                "127.0.0.1:0",
                "--scheduler-file",
                address_file,
            ]
        )
    ]
    for n in range(workers):
        procs.append(
            subprocess.Popen(
                [
                    *dask,
                    "worker",
                    "--scheduler-file",
                    address_file,
                    "--nthreads",
                    "1",
                    "--memory-limit",
                    "200MB",
                    "--no-nanny",
                    "--no-dashboard",
                    "--name",
                    f"hut-{n}",
                    "--local-directory",
                    folder,
                ]
            )
        )
    return address_file, procs


def free_mast(client, readings, station):
    """A fault blocks the mast's channel for minutes: don't leave its readings in the queue."""
    mast = station // PER_MAST
    client.cancel([f for s, f in readings.items() if s // PER_MAST == mast])
    log.info("readings of mast %d taken out of the queue", mast)


def collect(client, stations):
    readings = {
        s: client.submit(read_pillow, s, key=f"read_pillow-{s:02d}") for s in stations
    }
    waters = {
        s: client.submit(water_equivalent, r, key=f"water_equivalent-{s:02d}")
        for s, r in readings.items()
    }
    levels, skipped = {}, []
    for station, future in waters.items():
        try:
            levels[station] = future.result(timeout=90)[1]
        except PillowFault as fault:
            log.warning("skipped: %s", fault)
            skipped.append(fault.station)
            free_mast(client, readings, fault.station)
    return levels, skipped


def parse_args():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--stations", type=int, default=32)
    p.add_argument("--workers", type=int, default=2)
    p.add_argument("--max-skipped", type=int, default=6)
    return p.parse_args()


def main():
    args = parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    with tempfile.TemporaryDirectory(
        prefix="snow-", ignore_cleanup_errors=True
    ) as folder:
        address_file, procs = start_cluster(folder, args.workers)
        try:
            with Client(scheduler_file=address_file, timeout=90) as client:
                client.wait_for_workers(args.workers, timeout=90)
                log.info("%d stations to read", args.stations)
                levels, skipped = collect(client, range(args.stations))
                if len(skipped) > args.max_skipped:
                    log.error(
                        "%d stations skipped, the planners cannot interpolate that",
                        len(skipped),
                    )
                    return 2
                log.info(
                    "%d stations, mean %.0f mm, skipped %s",
                    len(levels),
                    np.mean(list(levels.values())),
                    skipped,
                )
        finally:
            for proc in reversed(procs):
                proc.terminate()
                proc.wait(60)
    return 0


if __name__ == "__main__":
    sys.exit(main())
