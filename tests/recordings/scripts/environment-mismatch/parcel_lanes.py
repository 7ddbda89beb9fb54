"""Sorting plan of the parcel hub: which parcel leaves over which lane.

The planners' package `lanekit` is installed per release under one root directory, as on
the hosts of the hub; every process gets the release that its host profile names.
"""

import argparse
import logging
import os
import random
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

from dask.distributed import Client

log = logging.getLogger("parcels")

HOST_PROFILES = {
    "scheduler": "2.4",
    "driver": "2.4",
    "sorter-a": "2.4",
    "sorter-b": "2.3",
}

BASE = """
LANES = {lanes}

def assign_lane(postcode, grams):
    if grams > 20000:
        return "bulky"
    return LANES[int(postcode[:2]) % len(LANES)]
"""
OVERFLOW = """
def spread_overflow(plan, capacity):
    moved = 0
    for lane in sorted(plan):
        spare = sorted(plan, key=lambda name: len(plan[name]))[0]
        while len(plan[lane]) > capacity and spare != lane:
            plan[spare].append(plan[lane].pop())
            moved += 1
    return moved
"""


def install_releases(root: Path) -> None:
    """What the packaging host has rolled out under /opt/lanekit."""
    for release, extra in (("2.3", ""), ("2.4", OVERFLOW)):
        pkg = root / f"release-{release}" / "lanekit"
        pkg.mkdir(parents=True)
        (pkg / "__init__.py").write_text(f'__version__ = "{release}"\n')
        lanes = [f"L{i:02d}" for i in range(12)]
        (pkg / "sorting.py").write_text(
            textwrap.dedent(BASE.format(lanes=lanes) + extra)
        )


def spawn(root: Path, host: str, what: str, *args: str) -> subprocess.Popen:
    path = str(root / f"release-{HOST_PROFILES[host]}")
    inherited = os.environ.get("PYTHONPATH")
    env = dict(
        os.environ, PYTHONPATH=f"{path}{os.pathsep}{inherited}" if inherited else path
    )
    return subprocess.Popen(
        [sys.executable, "-m", "dask", what, "--dashboard-address", ":0", *args],
        env=env,
    )


def read_wave(wave: int, parcels: int) -> list[tuple[str, int]]:
    rng = random.Random(wave)
    return [
        (
            f"{rng.randint(1, 99):02d}{rng.randint(0, 999):03d}",
            int(rng.lognormvariate(7, 1.2)),
        )
        for _ in range(parcels)
    ]


def check_wave(wave: int, parcels: int) -> tuple[int, int]:
    """Parcels of a wave that the scanners could not read, and the gross weight in kg."""
    rows = read_wave(wave, parcels)
    time.sleep(0.6)
    return sum(1 for postcode, _ in rows if postcode.startswith("00")), sum(
        g for _, g in rows
    ) // 1000


def plan_wave(wave: int, parcels: int, capacity: int) -> dict:
    """Lane plan of one departure wave."""
    from lanekit.sorting import assign_lane, spread_overflow

    plan: dict[str, list[str]] = {}
    for postcode, grams in read_wave(wave, parcels):
        plan.setdefault(assign_lane(postcode, grams), []).append(postcode)
    moved = spread_overflow(plan, capacity)
    time.sleep(0.3)
    return {
        "wave": wave,
        "lanes": len(plan),
        "moved": moved,
        "longest": max(map(len, plan.values())),
    }


def main() -> None:
    ap = argparse.ArgumentParser()
    ap.add_argument("--waves", type=int, default=16)
    ap.add_argument("--parcels", type=int, default=4000)
    ap.add_argument("--capacity", type=int, default=360)
    args = ap.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    procs: list[subprocess.Popen] = []
    with tempfile.TemporaryDirectory(prefix="parcels-") as tmp:
        root = Path(tmp)
        install_releases(root)
        sys.path.insert(0, str(root / f"release-{HOST_PROFILES['driver']}"))
        import lanekit

        log.info("planning with lanekit %s", lanekit.__version__)
        sfile = root / "hub.json"
        try:
            procs.append(
                spawn(
                    root,
                    "scheduler",
                    "scheduler",
                    "--port",
                    "0",
                    "--host",
                    "127.0.0.1",
                    "--scheduler-file",
                    str(sfile),
                )
            )
            for host in ("sorter-a", "sorter-b"):
                procs.append(
                    spawn(
                        root,
                        host,
                        "worker",
                        "--scheduler-file",
                        str(sfile),
                        "--name",
                        host,
                        "--nthreads",
                        "1",
                        "--memory-limit",
                        "300MB",
                        "--local-directory",
                        tmp,
                    )
                )
            while not sfile.exists():
                time.sleep(0.2)
            with Client(scheduler_file=str(sfile), timeout=60) as client:
                client.wait_for_workers(2, timeout=90)
                checks = client.gather(
                    client.map(check_wave, range(args.waves), parcels=args.parcels)
                )
                log.info(
                    "%d waves, %d kg, %d unreadable",
                    len(checks),
                    sum(k for _, k in checks),
                    sum(u for u, _ in checks),
                )
                futs = client.map(
                    plan_wave,
                    range(args.waves),
                    parcels=args.parcels,
                    capacity=args.capacity,
                )
                plans = client.gather(futs)
            for p in plans:
                print(
                    f"wave {p['wave']:2d}: {p['lanes']} lanes, {p['moved']} moved, longest {p['longest']}"
                )
        finally:
            for p in reversed(procs):
                p.terminate()
                p.wait(30)


if __name__ == "__main__":
    main()
