"""Fatigue assessment of wind turbines with a licensed solver.

Each worker may use one seat of the solver (resource SEAT).  A short screening
run per turbine tells which ones need the full assessment; the full assessment
splits the load history into windows, solves each and combines the damage.
"""

import argparse
import logging
import sys
import tempfile
import time

import numpy as np
from dask.distributed import Client, LocalCluster, wait, worker_client

log = logging.getLogger("turbine_licences")

SEAT = {"SEAT": 1}
WOEHLER = 4.0


def load_history(turbine, hours, seed):
    rng = np.random.default_rng([seed, turbine])
    base = 30 + 6 * np.sin(np.linspace(0, 40, hours * 60))
    return base + rng.gumbel(0, 2.5 + turbine % 3, hours * 60)


def screen(turbine, hours, seed):
    """Peak load over mean load; above the threshold the turbine is assessed."""
    load = load_history(turbine, hours, seed)
    time.sleep(0.4)
    return turbine, float(load.max() / load.mean())


def solve_window(turbine, start, load):
    """Rainflow-like damage of one window (needs a solver seat)."""
    ranges = np.abs(np.diff(load))
    time.sleep(0.3)
    return start, float((ranges**WOEHLER).sum() / 1e9)


def assess(turbine, hours, seed, window):
    """Damage of one turbine, its windows solved on the cluster."""
    load = load_history(turbine, hours, seed)
    starts = range(0, len(load), window)
    with worker_client() as client:
        parts = [
            client.submit(
                solve_window,
                turbine,
                s,
                load[s : s + window],
                resources=SEAT,
                key=f"solve_window-{turbine:03d}-{s:05d}",
            )
            for s in starts
        ]
        damage = sum(d for _, d in client.gather(parts))
    return {"turbine": turbine, "windows": len(parts), "damage": damage}


def pick(client, args):
    futs = [
        client.submit(
            screen, t, args.hours, args.seed, resources=SEAT, key=f"screen-{t:03d}"
        )
        for t in range(args.turbines)
    ]
    ratios = dict(client.gather(futs))
    worst = sorted(ratios, key=ratios.get, reverse=True)[: args.assess]
    log.info("screened %d turbines, assessing %s", len(ratios), worst)
    return worst


def assess_all(client, worst, args):
    futs = [
        client.submit(
            assess,
            t,
            args.hours,
            args.seed,
            args.window,
            resources=SEAT,
            retries=1,
            key=f"assess-{t:03d}",
        )
        for t in worst
    ]
    log.info("%d assessments submitted", len(futs))
    wait(futs, timeout=args.limit)
    return client.gather(futs)


def report(results):
    for r in sorted(results, key=lambda r: -r["damage"]):
        log.info(
            "turbine %03d: damage %.4f in %d windows",
            r["turbine"],
            r["damage"],
            r["windows"],
        )


def main(argv=None):
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--turbines", type=int, default=10)
    p.add_argument("--assess", type=int, default=4)
    p.add_argument("--hours", type=int, default=24)
    p.add_argument("--window", type=int, default=240)
    p.add_argument("--seed", type=int, default=11)
    p.add_argument(
        "--limit", type=float, default=35, help="seconds for the assessments"
    )
    args = p.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    t0 = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="turbine-") as work:
        with LocalCluster(
            n_workers=2,
            threads_per_worker=2,
            resources=SEAT,
            dashboard_address=":0",
            local_directory=work,
        ) as cluster:
            with Client(cluster) as client:
                worst = pick(client, args)
                results = assess_all(client, worst, args)
        report(results)
    log.info("finished after %.1f s", time.monotonic() - t0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
