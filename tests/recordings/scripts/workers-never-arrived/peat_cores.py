"""Peat cores: pollen counts of the drilled cores -> vegetation zones.

Layout of the project share: one run directory per night with its logs and the address
file of the scheduler; `current` is the link that everybody uses to look at a run.
"""

import argparse
import datetime as dt
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from dask.distributed import Client

log = logging.getLogger("peat")

TAXA = ["betula", "pinus", "alnus", "quercus", "ulmus", "tilia", "fagus", "poaceae"]


def project_share(root: Path, tonight: dt.date) -> Path:
    """The share as the run of the night before has left it."""
    last = root / (tonight - dt.timedelta(days=1)).isoformat()
    last.mkdir()
    (last / "scheduler.json").write_text(
        json.dumps(
            {
                "type": "Scheduler",
                "id": "Scheduler-5e0c",
                "address": "tcp://127.0.0.66:23786",
                "services": {},
                "started": time.time() - 86_400,
                "workers": {},
            }
        )
    )
    (root / "current").symlink_to(last.name)
    return root


def new_run(root: Path, tonight: dt.date) -> Path:
    run = root / tonight.isoformat()
    run.mkdir()
    return run


def point_current(root: Path, run: Path) -> None:
    link = root / "current.new"
    link.symlink_to(run.name)
    os.replace(link, root / "current")
    log.info("current -> %s", run.name)


def start_scheduler(run: Path) -> subprocess.Popen:
    proc = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "dask",
            "scheduler",
            "--dashboard-address",
            ":0",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--scheduler-file",
            str(run / "scheduler.json"),
        ]
    )
    while not (run / "scheduler.json").exists():
        time.sleep(0.2)
    log.info("scheduler is up, address in %s", run / "scheduler.json")
    return proc


def start_workers(root: Path, n: int) -> list[subprocess.Popen]:
    """The same line as in the group's `worker.sh`, once for each machine."""
    return [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "dask",
                "worker",
                "--no-dashboard",
                "--scheduler-file",
                str(root / "current" / "scheduler.json"),
                "--name",
                f"lab-{i}",
                "--nthreads",
                "1",
                "--memory-limit",
                "300MB",
                "--local-directory",
                str(root),
            ]
        )
        for i in range(n)
    ]


def count_core(core: int, depths: int = 120) -> np.ndarray:
    rng = np.random.default_rng(core)
    drift = np.cumsum(rng.normal(0, 0.1, (depths, len(TAXA))), axis=0)
    return rng.poisson(np.exp(2 + drift.clip(-2, 2)))


def zone_bounds(counts: np.ndarray, zones: int) -> list[int]:
    share = counts / counts.sum(axis=1, keepdims=True).clip(1)
    jump = np.abs(np.diff(share, axis=0)).sum(axis=1)
    return sorted(int(i) for i in np.argsort(jump)[-zones:])


def main() -> None:
    ap = argparse.ArgumentParser()
    ap.add_argument("--cores", type=int, default=20)
    ap.add_argument("--zones", type=int, default=5)
    ap.add_argument("--workers", type=int, default=2)
    ap.add_argument("--wait", type=float, default=40)
    args = ap.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    tonight = dt.date(2026, 11, 27)
    procs: list[subprocess.Popen] = []
    with tempfile.TemporaryDirectory(prefix="peat-") as tmp:
        root = project_share(Path(tmp), tonight)
        run = new_run(root, tonight)
        try:
            procs.append(start_scheduler(run))
            procs += start_workers(root, args.workers)
            with Client(
                scheduler_file=str(run / "scheduler.json"), timeout=60
            ) as client:
                client.wait_for_workers(args.workers, timeout=args.wait)
                counts = client.map(count_core, range(args.cores))
                bounds = client.gather(
                    client.map(zone_bounds, counts, zones=args.zones)
                )
            for core, b in enumerate(bounds):
                print(f"core {core:2d}: zones at {b}")
            point_current(root, run)
        finally:
            for p in reversed(procs):
                p.terminate()
                try:
                    p.wait(20)
                except subprocess.TimeoutExpired:
                    p.kill()
                    p.wait()


if __name__ == "__main__":
    main()
