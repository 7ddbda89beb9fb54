"""Angle-of-attack sweeps of the night: mesh every airfoil, solve it, collect the polars.

Meshing runs on the `mesher` worker (it mounts the CAD share); the flow solver has one
floating licence, so solves ask for one SOLVER token.
"""

import argparse
import contextlib
import json
import logging
import math
import pathlib
import subprocess
import sys
import tempfile
import time

from dask.distributed import Client, as_completed

log = logging.getLogger("airfoil")

FOILS = [
    "naca0012",
    "naca2412",
    "naca4415",
    "clarky",
    "e387",
    "s1223",
    "rg15",
    "mh45",
    "ag24",
    "sd7037",
    "fx63",
    "goe417",
]


def dask_command(*args):
    return [sys.executable, "-m", "dask", *args]


@contextlib.contextmanager
def cluster(folder, licence_window):
    """Scheduler and the two workers of this job, as the batch host starts them."""
    contact = folder / "scheduler.json"
    common = [
        "--scheduler-file",
        str(contact),
        "--nthreads",
        "1",
        "--no-dashboard",
        "--memory-limit",
        "300MB",
        "--local-directory",
        str(folder),
    ]
    commands = [
        dask_command(
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--scheduler-file",
            str(contact),
            "--dashboard-address",
            ":0",
        ),
        dask_command("worker", *common, "--name", "mesher", "--resources", "MESH=1"),
        dask_command(
            "worker",
            *common,
            "--name",
            "solver",
            "--resources",
            "SOLVER=1",
            "--lifetime",
            f"{licence_window} seconds",
        ),
    ]
    running = []
    try:
        for command in commands:
            running.append(subprocess.Popen(command))
            if len(running) == 1:
                for _ in range(600):
                    if contact.exists():
                        break
                    time.sleep(0.1)
        yield contact
    finally:
        for proc in reversed(running):
            proc.terminate()
            try:
                proc.wait(20)
            except subprocess.TimeoutExpired:
                proc.kill()


def mesh(foil, cells):
    time.sleep(1.8)
    xs = [i / cells for i in range(cells + 1)]
    return {"foil": foil, "points": [(x, 0.12 * math.sqrt(x) * (1 - x)) for x in xs]}


def solve(grid, angles):
    """Polar of one airfoil: lift and drag for every angle."""
    polar = []
    thickness = max(y for _, y in grid["points"])
    for angle in angles:
        time.sleep(0.1)
        a = math.radians(angle)
        polar.append((angle, 2 * math.pi * a, 0.008 + thickness * a * a))
    return {"foil": grid["foil"], "polar": polar}


def best_glide(polar):
    return max((cl / cd, angle) for angle, cl, cd in polar["polar"])


def sweep(client, foils, angles, patience):
    grids = [
        client.submit(mesh, f, 400, key=f"mesh-{f}", resources={"MESH": 1})
        for f in foils
    ]
    polars = [
        client.submit(solve, g, angles, key=f"solve-{f}", resources={"SOLVER": 1})
        for f, g in zip(foils, grids)
    ]
    table = {}
    for future in as_completed(polars, timeout=patience):
        result = future.result()
        ratio, angle = best_glide(result)
        table[result["foil"]] = {"glide": round(ratio, 1), "angle": angle}
        log.info(
            "%-9s glide %.1f at %s deg (%d of %d)",
            result["foil"],
            ratio,
            angle,
            len(table),
            len(foils),
        )
    return table


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--licence-window", type=int, default=12, metavar="SECONDS")
    ap.add_argument("--patience", type=int, default=30, metavar="SECONDS")
    ap.add_argument("--step", type=int, default=2)
    args = ap.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    angles = list(range(0, 14, args.step))
    with tempfile.TemporaryDirectory(prefix="airfoil-") as tmp:
        folder = pathlib.Path(tmp)
        with cluster(folder, args.licence_window) as contact:
            with Client(scheduler_file=str(contact), timeout=60) as client:
                client.wait_for_workers(2, timeout=60)
                log.info(
                    "workers are up, %d airfoils, %d angles", len(FOILS), len(angles)
                )
                table = sweep(client, FOILS, angles, args.patience)
                (folder / "polars.json").write_text(json.dumps(table))
    log.info("done: %d polars", len(table))


if __name__ == "__main__":
    main()
