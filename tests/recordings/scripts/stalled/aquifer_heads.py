#!/usr/bin/env python
"""Steady-state heads of the regional aquifers, for the well permits of the next day.

Every basin is solved on its own grid by relaxation; the heads at the wells go to the permit desk.
"""

import argparse
import logging
import sys
import time

import numpy as np
from dask.distributed import Client, LocalCluster, wait

log = logging.getLogger("aquifer_heads")

BASINS = [
    "alder",
    "birkfeld",
    "chalk-east",
    "chalk-west",
    "dolomite",
    "esker",
    "gravel-bed",
    "karst-north",
    "karst-south",
    "loess",
    "moraine",
    "terrace",
]


def load_basin(name, size=48):
    """Transmissivity and recharge on the grid, as the survey delivers them."""
    rng = np.random.default_rng(sum(name.encode()))
    trans = rng.uniform(20.0, 140.0, (size, size))
    recharge = rng.uniform(0.0, 0.4, (size, size))
    if name == "karst-south":
        trans[20:24, 20:24] = 0.0  # sealed since the mine was flooded
    return {"name": name, "trans": trans, "recharge": recharge}


def relax(heads, trans, recharge):
    """One sweep: every inner cell becomes the weighted mean of its neighbours."""
    n, s = trans[:-2, 1:-1], trans[2:, 1:-1]
    w, e = trans[1:-1, :-2], trans[1:-1, 2:]
    total = n + s + w + e
    new = heads.copy()
    new[1:-1, 1:-1] = (
        n * heads[:-2, 1:-1]
        + s * heads[2:, 1:-1]
        + w * heads[1:-1, :-2]
        + e * heads[1:-1, 2:]
        + recharge[1:-1, 1:-1]
    ) / total
    return new


def solve_basin(basin, tolerance):
    """Relax until no cell moves by more than the tolerance (metres)."""
    trans, recharge = basin["trans"], basin["recharge"]
    heads = np.full(trans.shape, 210.0)
    heads[0], heads[-1] = 216.0, 204.0
    sweeps = 0
    while True:
        new = relax(heads, trans, recharge)
        change = np.abs(new - heads).max()
        heads = new
        sweeps += 1
        if sweeps % 20000 == 0:
            print(f"{basin['name']}: sweep {sweeps}, change {change}", flush=True)
        if change < tolerance:
            return {"name": basin["name"], "sweeps": sweeps, "heads": heads}


def well_report(solution, wells=5):
    rng = np.random.default_rng(7)
    rows, cols = rng.integers(1, 47, wells), rng.integers(1, 47, wells)
    return solution["name"], [round(float(h), 2) for h in solution["heads"][rows, cols]]


def parse_args():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--tolerance", type=float, default=2e-3)
    p.add_argument("--limit", type=float, default=28, help="seconds for all basins")
    return p.parse_args()


def main():
    args = parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="250MB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(2, timeout=60)
        started = time.monotonic()
        basins = [
            client.submit(load_basin, name, key=f"load_basin-{name}") for name in BASINS
        ]
        solved = [
            client.submit(solve_basin, basin, args.tolerance, key=f"solve_basin-{name}")
            for name, basin in zip(BASINS, basins)
        ]
        reports = [
            client.submit(well_report, s, key=f"well_report-{name}")
            for name, s in zip(BASINS, solved)
        ]
        log.info("%d basins submitted", len(BASINS))
        try:
            wait(reports, timeout=args.limit)
        except TimeoutError:
            ready = sum(r.status == "finished" for r in reports)
            log.error(
                "only %d of %d reports after %.0f s",
                ready,
                len(reports),
                time.monotonic() - started,
            )
            return 3
        for name, heads in client.gather(reports):
            log.info("%-12s %s", name, heads)
        log.info("permit desk served in %.1f s", time.monotonic() - started)
    return 0


if __name__ == "__main__":
    sys.exit(main())
