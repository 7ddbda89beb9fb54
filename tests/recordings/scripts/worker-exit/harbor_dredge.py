"""Nightly dredging plan: volume above the design depth per harbour sector, then the barge contract."""

import argparse
import logging
import os
import sys
import tempfile
import time

import dask
import numpy as np
from distributed import Client, LocalCluster, as_completed
from distributed.scheduler import KilledWorker

log = logging.getLogger("dredge")
DESIGN_DEPTH = 12.5
BARGES = {
    "north": ["S01", "S02", "S03", "S04"],
    "basin": ["S05", "S06", "S07"],
    "fairway": ["S08", "S09", "S10"],
}


def parse_args(argv=None):
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--sectors", type=int, default=10)
    p.add_argument("--points", type=int, default=4000)
    p.add_argument("--barge-m3", type=float, default=900.0)
    return p.parse_args(argv)


def write_soundings(folder, sectors, points):
    """What the survey boat uploads in the evening: one array of x, y, depth per sector."""
    rng = np.random.default_rng(91)
    for n in range(1, sectors + 1):
        xyz = rng.uniform(0, 100, size=(points, 3))
        xyz[:, 2] = DESIGN_DEPTH + rng.normal(-0.2, 0.6, size=points)
        if n == 7:
            xyz[:, 1] = 50.0
        np.save(os.path.join(folder, f"S{n:02d}.npy"), xyz)


def load_soundings(folder, sector):
    xyz = np.load(os.path.join(folder, f"{sector}.npy"))
    return xyz[np.isfinite(xyz).all(axis=1)]


def tri_mesh(xy):
    """Port of the survey department's mesher; it keeps the return codes of the old program."""
    spread = xy.max(axis=0) - xy.min(axis=0)
    if spread.min() < 1e-6:
        print(
            f"tri_mesh: hull has no area ({spread[0]:.1f} x {spread[1]:.1f} m)",
            file=sys.stderr,
            flush=True,
        )
        os._exit(17)
    return spread.prod()


def solve_sector(folder, sector):
    xyz = load_soundings(folder, sector)
    area = tri_mesh(xyz[:, :2])
    time.sleep(1.5)
    above = np.clip(DESIGN_DEPTH - xyz[:, 2], 0, None)
    return {"sector": sector, "m3": float(above.mean() * area), "points": len(xyz)}


def solve_all(client, folder, sectors):
    futures = {
        client.submit(solve_sector, folder, s, key=f"solve_sector-{s}"): s
        for s in sectors
    }
    solved = {}
    for future in as_completed(futures):
        name = futures[future]
        try:
            solved[name] = future.result()
        except KilledWorker:
            log.warning("sector %s: no volume tonight", name)
            continue
        log.info("sector %s: %.0f m3", name, solved[name]["m3"])
    return solved


def write_contract(volumes, barge_m3):
    lines = []
    for lot, sectors in BARGES.items():
        total = sum(volumes[s]["m3"] for s in sectors)
        lines.append(f"{lot:8s} {total:9.0f} m3 {int(-(-total // barge_m3)):4d} barges")
    return "\n".join(lines)


def main(argv=None):
    args = parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    sectors = [f"S{n:02d}" for n in range(1, args.sectors + 1)]
    dask.config.set(
        {
            "distributed.scheduler.allowed-failures": 1,
            "distributed.scheduler.worker-saturation": 1.0,
        }
    )
    with tempfile.TemporaryDirectory(prefix="dredge-") as folder:
        write_soundings(folder, args.sectors, args.points)
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="280MiB",
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster) as client:
                volumes = solve_all(client, folder, sectors)
        log.info("%d sectors solved", len(volumes))
        print(write_contract(volumes, args.barge_m3))


if __name__ == "__main__":
    main()
