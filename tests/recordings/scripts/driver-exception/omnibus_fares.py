"""Nightly settlement of omnibus fares.

Every depot delivers the journeys of the day. They are added up per fare stage on a small cluster which this
script brings along (the night host has no permanent one), priced with the fare table of the county, and
written as one settlement file for the operators.
"""

import argparse
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from distributed import Client

log = logging.getLogger("omnibus")

STAGES = ["A1", "A2", "B1", "B2", "C1", "C2", "D1"]
DEPOTS = ["ashby", "burton", "coalville", "derby", "eastwood", "fenton"]

FARE_TABLE = """stage,fare
A1,1.20
A2,1.60
B1,1.90
B2,2.30
C1,2.80
C2,3.10
D1,3.90
B2,2.40
"""


class NightCluster:
    """One scheduler and a few workers, each a process of its own with its own log file."""

    def __init__(self, folder, workers=2):
        self.folder = Path(folder)
        self.scheduler_file = self.folder / "scheduler.json"
        self.n = workers
        self.processes = {}

    def _start(self, name, *args):
        out = open(self.folder / f"{name}.log", "w")
        self.processes[name] = subprocess.Popen(
            [sys.executable, "-m", "dask", *args], stdout=out, stderr=out
        )

    def __enter__(self):
        self._start(
            "scheduler",
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            str(self.scheduler_file),
        )
        for i in range(self.n):
            self._start(
                f"worker-{i}",
                "worker",
                "--scheduler-file",
                str(self.scheduler_file),
                "--nthreads",
                "1",
                "--memory-limit",
                "400MB",
                "--no-dashboard",
                "--name",
                f"worker-{i}",
                "--local-directory",
                str(self.folder),
            )
        return self

    def __exit__(self, *exc):
        codes = {}
        for name, process in self.processes.items():
            process.terminate()
        for name, process in self.processes.items():
            try:
                codes[name] = process.wait(8)
            except subprocess.TimeoutExpired:
                process.kill()
                codes[name] = process.wait()
        bad = {name: code for name, code in codes.items() if code}
        if bad:
            raise RuntimeError(f"cluster did not stop cleanly: {bad}")


def journeys_of(folder, depot):
    frame = pd.read_csv(Path(folder) / f"{depot}.csv")
    return (
        frame.groupby("stage", as_index=False)["passengers"].sum().assign(depot=depot)
    )


def write_input(folder, day):
    rng = np.random.default_rng(day.toordinal())
    for depot in DEPOTS:
        if depot == "eastwood":  # closed on this day, has no file
            continue
        pd.DataFrame(
            {"stage": rng.choice(STAGES, 4000), "passengers": rng.integers(1, 5, 4000)}
        ).to_csv(Path(folder) / f"{depot}.csv", index=False)
    (Path(folder) / "fares.csv").write_text(FARE_TABLE)


def price_journeys(journeys, fares):
    priced = journeys.merge(fares, on="stage", how="left", validate="many_to_one")
    priced["amount"] = priced["passengers"] * priced["fare"]
    return priced


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--day", type=pd.Timestamp, default=pd.Timestamp("2026-11-27"))
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    try:
        settle(args.day)
    finally:
        log.info(
            "sent %d bytes to the operators", Path("settlement.json").stat().st_size
        )


def settle(day):
    with tempfile.TemporaryDirectory(
        prefix="omnibus-", ignore_cleanup_errors=True
    ) as folder:
        write_input(folder, day)
        with NightCluster(folder) as cluster:
            for _ in range(200):
                if cluster.scheduler_file.exists():
                    break
                time.sleep(0.1)
            with Client(
                scheduler_file=str(cluster.scheduler_file), timeout=20
            ) as client:
                client.wait_for_workers(2, timeout=30)
                futures = {
                    d: client.submit(journeys_of, folder, d, key=f"journeys_of-{d}")
                    for d in DEPOTS
                }
                parts = []
                for depot, future in futures.items():
                    try:
                        parts.append(future.result())
                    except FileNotFoundError:
                        log.warning("%s delivered nothing, taken as closed", depot)
                log.info("%d depots added up", len(parts))
                priced = price_journeys(
                    pd.concat(parts), pd.read_csv(Path(folder) / "fares.csv")
                )
                total = priced.groupby("depot")["amount"].sum().round(2)
                Path("settlement.json").write_text(json.dumps(total.to_dict()))
                log.info(
                    "settlement written, %s in all, pid %d", total.sum(), os.getpid()
                )


if __name__ == "__main__":
    main()
