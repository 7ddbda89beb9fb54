#!/usr/bin/env python
"""Feed plans of ostrich farms: growth of each flock under several rations.

The machine is shared with the web shop, so a small guard runs beside the job
(ops asked for it) and looks after the processes of this job.
"""

import argparse
import contextlib
import logging
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dask.distributed import Client, LocalCluster, as_completed

logger = logging.getLogger("farms")

GUARD = r"""
import sys, time, psutil
parent = psutil.Process(int(sys.argv[1]))
ceiling = float(sys.argv[2])
log = open(sys.argv[3], "a", buffering=1)
while parent.is_running():
    for child in parent.children(recursive=True):
        try:
            if child.pid == psutil.Process().pid:
                continue
            used = sum(child.cpu_times()[:2])
            if used > ceiling:
                log.write("guard: pid %d used %.1f s of processor, ending it\n" % (child.pid, used))
                child.kill()
        except psutil.Error:
            pass
    time.sleep(0.25)
"""


@contextlib.contextmanager
def guard(seconds, logfile):
    code = Path(tempfile.mkdtemp()) / "guard.py"
    code.write_text(GUARD)
    proc = subprocess.Popen(
        [sys.executable, str(code), str(os.getpid()), str(seconds), str(logfile)]
    )
    logger.info("guard runs as %d", proc.pid)
    try:
        yield proc
    finally:
        proc.terminate()
        proc.wait()


def simulate_flock(farm, ration, days):
    """Gompertz growth day by day, bird by bird."""
    total = 0.0
    for bird in range(farm["birds"]):
        weight = 0.9 + 0.001 * (bird % 7)
        for day in range(days):
            weight += 0.02 * ration * weight * math.log(120.0 / weight)
        total += weight
    return {
        "farm": farm["name"],
        "ration": ration,
        "kg": round(total / farm["birds"], 2),
    }


def best_by_farm(rows):
    best = {}
    for row in rows:
        if row["farm"] not in best or row["kg"] > best[row["farm"]]["kg"]:
            best[row["farm"]] = row
    return best


def run(args):
    farms = [
        {"name": "oudtshoorn", "birds": 400},
        {"name": "calitzdorp", "birds": 350},
        {"name": "ladismith", "birds": 500},
        {"name": "graaff-reinet", "birds": args.largest},
    ]
    rows = []
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=None
    )
    with cluster, Client(cluster) as client, guard(args.ceiling, "guard.log"):
        futures = [
            client.submit(simulate_flock, farm, ration, args.days)
            for farm in farms
            for ration in (0.8, 1.0)
        ]
        for future in as_completed(futures):
            try:
                rows.append(future.result())
            except Exception as exc:
                logger.error("%s not usable: %s", future.key, type(exc).__name__)
    plans = best_by_farm(rows)
    missing = [farm["name"] for farm in farms if farm["name"] not in plans]
    if missing:
        raise RuntimeError("no feed plan for " + ", ".join(missing))
    return plans


if __name__ == "__main__":
    os.environ.setdefault("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")
    import dask

    dask.config.refresh()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--largest", type=int, default=300000)
    parser.add_argument("--ceiling", type=float, default=7.0)
    logging.basicConfig(
        level=logging.INFO, format="%(levelname)s %(name)s: %(message)s"
    )
    started = time.time()
    for name, plan in run(parser.parse_args()).items():
        print(name, plan)
    print("done in", round(time.time() - started), "s")
