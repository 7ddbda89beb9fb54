"""Nightly honey flow report of the beekeepers' union.

Every apiary has a few hives on scales.  The scales report raw counts, which are turned into kilograms with the
calibration table of the month; the report says which apiaries gain weight and may be harvested.
The workers are started by the job itself, with a preload that reads the calibration once per process.
"""

import argparse
import contextlib
import json
import logging
import pathlib
import subprocess
import sys
import textwrap

import numpy as np
from distributed import Client

log = logging.getLogger("hive_weights")

PRELOAD = '''
"""Reads the month's scale calibration once per worker process."""
import json
import os
import pathlib

PATH = pathlib.Path(os.environ["HIVE_CALIBRATION"])


def to_kilograms(row):
    return {"gain": float(row["gain"]), "tare": float(row["tare"])}


TABLE = {name: to_kilograms(row) for name, row in json.loads(PATH.read_text()).items()}


def dask_setup(worker):
    worker.hive_calibration = TABLE
'''


def write_inputs(folder, month):
    """What the field app delivers: one calibration table, one text file of notes that is often missing."""
    rng = np.random.default_rng(5)
    table = {}
    for number in range(24):
        table[f"scale_{number:02d}"] = {
            "gain": f"{rng.uniform(0.9, 1.1):.4f}",
            "tare": f"{rng.uniform(20, 40):.1f}",
        }
    table["scale_17"]["tare"] = "31,4"
    path = folder / f"calibration_{month}.json"
    path.write_text(json.dumps(table, indent=1))
    (folder / "hive_setup.py").write_text(textwrap.dedent(PRELOAD))
    try:
        notes = (folder / "field_notes.txt").read_text()
    except FileNotFoundError:
        log.warning("no field notes for %s, the report goes without", month)
        notes = ""
    return path, notes


def weigh(apiary, scales):
    from distributed import get_worker

    table = get_worker().hive_calibration
    rng = np.random.default_rng(apiary)
    total = 0.0
    for scale in scales:
        raw = rng.normal(52, 3, size=24 * 60)
        total += float(np.diff(raw * table[scale]["gain"] - table[scale]["tare"]).sum())
    return apiary, round(total, 2)


@contextlib.contextmanager
def fleet(folder, calibration, workers):
    import os

    file = folder / "scheduler.json"
    env = dict(os.environ, HIVE_CALIBRATION=str(calibration.resolve()))
    processes = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "dask",
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--dashboard-address",
                ":0",
                "--scheduler-file",
                str(file),
            ]
        )
    ]
    try:
        for number in range(workers):
            processes.append(
                subprocess.Popen(
                    [
                        sys.executable,
                        "-m",
                        "dask",
                        "worker",
                        "--scheduler-file",
                        str(file),
                        "--nthreads",
                        "1",
                        "--name",
                        f"weigher-{number}",
                        "--memory-limit",
                        "400MB",
                        "--no-dashboard",
                        "--preload",
                        str(folder / "hive_setup.py"),
                        "--death-timeout",
                        "30",
                    ],
                    env=env,
                )
            )
        yield file
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            try:
                process.wait(8)
            except subprocess.TimeoutExpired:
                process.kill()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--month", default="2026-11")
    parser.add_argument("--apiaries", type=int, default=12)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")

    folder = pathlib.Path("hives")
    folder.mkdir(exist_ok=True)
    calibration, notes = write_inputs(folder, options.month)
    with fleet(folder, calibration, workers=2) as file:
        with Client(scheduler_file=str(file), timeout=20) as client:
            client.wait_for_workers(2, timeout=16)
            scales = sorted(json.loads(calibration.read_text()))
            futures = [
                client.submit(weigh, number, scales[number % 20 : number % 20 + 4])
                for number in range(options.apiaries)
            ]
            for apiary, gain in client.gather(futures):
                log.info("apiary %02d: %+.2f kg", apiary, gain)
    if notes:
        log.info("notes: %s", notes)


if __name__ == "__main__":
    main()
