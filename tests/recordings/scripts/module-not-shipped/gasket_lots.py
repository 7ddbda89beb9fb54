"""Release of gasket lots: measure the samples of each lot, grade them by the plant's rules, print the hold list."""

import argparse
import contextlib
import json
import logging
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from dask.distributed import Client, LocalCluster, as_completed

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
log = logging.getLogger("gasket")

RULES = '''
"""Grading rules of the plant, edited by quality assurance."""
LIMITS = {"nitrile": (2.9, 3.1), "viton": (2.95, 3.05), "epdm": (2.85, 3.15)}


def grade_lot(lot):
    low, high = LIMITS[lot["rubber"]]
    outside = [value for value in lot["thickness"] if not low <= value <= high]
    return {"lot": lot["lot"], "grade": "hold" if len(outside) > 4 else "pass", "outside": len(outside)}
'''


@contextlib.contextmanager
def line_workers(address, spool, count):
    """Workers belong to the line: they run in its spool folder."""
    procs = []
    for number in range(count):
        procs.append(
            subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "dask",
                    "worker",
                    address,
                    "--name",
                    f"line-{number}",
                    "--nthreads",
                    "1",
                    "--memory-limit",
                    "300MB",
                    "--no-dashboard",
                ],
                cwd=spool,
            )
        )
    try:
        yield procs
    finally:
        for proc in procs:
            proc.terminate()
        for proc in procs:
            proc.wait(15)


def measure(number):
    rng = random.Random(number)
    rubber = rng.choice(["nitrile", "viton", "epdm"])
    return {
        "lot": f"G{number:04d}",
        "rubber": rubber,
        "thickness": [rng.gauss(3.0, 0.05) for _ in range(60)],
    }


def archived(path):
    try:
        return json.loads(Path(path).read_text())
    except FileNotFoundError as error:
        log.warning("no hold list of yesterday (%s), start with an empty one", error)
        return []


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lots", type=int, default=24)
    args = parser.parse_args()

    plant = Path("plant")
    plant.mkdir(exist_ok=True)
    (plant / "gasket_rules.py").write_text(RULES)
    sys.path.insert(0, os.path.abspath(plant))
    import gasket_rules

    hold = archived("hold.json")
    with tempfile.TemporaryDirectory() as spool:
        with (
            LocalCluster(
                n_workers=0, host="127.0.0.1", dashboard_address=None
            ) as cluster,
            line_workers(cluster.scheduler_address, spool, 2),
            Client(cluster) as client,
        ):
            client.wait_for_workers(2, timeout=20)
            measured = client.map(measure, range(args.lots))
            log.info("%d lots to be measured", len(measured))
            for future in as_completed(
                client.map(gasket_rules.grade_lot, measured), timeout=20
            ):
                result = future.result()
                if result["grade"] == "hold":
                    hold.append(result)
    Path("hold.json").write_text(json.dumps(hold))
    log.info("%d lots on hold", len(hold))


if __name__ == "__main__":
    main()
