"""Fluorescence plates: turn raw counts of a plate reader into concentrations.

A Calibration object is read once on the lab's host and sent along with every
plate. It is small on the wire: only its name travels, tables are read again.
"""

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

from dask.distributed import Client


TABLES = {"lot-A17": [0.0, 1.92, 0.013], "lot-B02": [0.4, 1.71, 0.02]}


MODULE = '''
import json


class Calibration:
    """A polynomial per reagent lot."""

    def __init__(self, lot, folder="calibration"):
        self.lot = lot
        self.folder = folder
        self.load()

    def load(self):
        with open(f"{self.folder}/{self.lot}.json") as f:
            self.coefficients = json.load(f)

    def __getstate__(self):
        return {"lot": self.lot, "folder": self.folder}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self.load()

    def __call__(self, count):
        return sum(c * count**i for i, c in enumerate(self.coefficients))


def convert(plate, calibration):
    values = [calibration(c) for c in plate["counts"]]
    return {"plate": plate["id"], "mean": sum(values) / len(values)}
'''


def prepare():
    Path("calibration").mkdir(exist_ok=True)
    for lot, coefficients in TABLES.items():
        Path("calibration", f"{lot}.json").write_text(json.dumps(coefficients))
    Path("bench").mkdir(exist_ok=True)
    Path("readerlib").mkdir(exist_ok=True)
    Path("readerlib", "platereader.py").write_text(MODULE)
    sys.path.insert(0, os.path.abspath("readerlib"))


def plates(n):
    rng = random.Random(4)
    return [
        {"id": f"P{i:03}", "counts": [rng.uniform(1, 40) for _ in range(96)]}
        for i in range(n)
    ]


def start():
    env = dict(os.environ)
    env["PYTHONPATH"] = os.pathsep.join(
        filter(None, [os.path.abspath("readerlib"), env.get("PYTHONPATH")])
    )
    dask = [sys.executable, "-m", "dask"]
    address = os.path.abspath("plates.json")
    yield subprocess.Popen(
        [
            *dask,
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            address,
        ],
        env=env,
        start_new_session=True,
    )
    for name in ("left", "right"):
        # workers spill a lot, so they sit on the fast disk
        yield subprocess.Popen(
            [
                *dask,
                "worker",
                "--scheduler-file",
                address,
                "--nthreads",
                "1",
                "--name",
                name,
                "--memory-limit",
                "300MB",
                "--no-dashboard",
                "--local-directory",
                ".",
            ],
            env=env,
            cwd="bench",
            start_new_session=True,
        )


def stop(procs):
    for proc in reversed(procs):
        if proc.poll() is None:
            os.killpg(proc.pid, signal.SIGTERM)
    for proc in procs:
        try:
            proc.wait(8)
        except subprocess.TimeoutExpired:
            os.killpg(proc.pid, signal.SIGKILL)


def main():
    signal.signal(
        signal.SIGTERM, lambda *_: sys.exit(143)
    )  # the lab's timer ends us that way
    prepare()
    from platereader import Calibration, convert

    todo = plates(12)
    lots = {lot: Calibration(lot) for lot in TABLES}
    control = convert(todo[0], lots["lot-A17"])
    print("control plate on the host:", round(control["mean"], 2), flush=True)
    procs = []
    try:
        procs.extend(start())
        client = Client(scheduler_file="plates.json", timeout="20s")
        client.wait_for_workers(2, timeout=20)
        futures = [
            client.submit(
                convert,
                p,
                lots["lot-A17" if i % 2 else "lot-B02"],
                key=f"convert-{p['id']}",
            )
            for i, p in enumerate(todo)
        ]
        results = client.gather(futures)
        Path("concentrations.json").write_text(json.dumps(results))
        client.close()
    finally:
        stop(procs)


if __name__ == "__main__":
    main()
