"""Plans the airship cruises of the season on workers started from the command line."""

import argparse
import json
import logging
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dask.distributed import Client, wait

log = logging.getLogger("airships")

ROUTES = ["alpine", "baltic", "canal", "delta"]
SEASONS = ["spring", "autumn"]


def start(args, cwd):
    return subprocess.Popen([sys.executable, "-m", "dask", *args], cwd=cwd)


def start_cluster(tmp, options):
    file = Path(tmp) / "scheduler.json"
    procs = [
        start(
            [
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--dashboard-address",
                ":0",
                "--scheduler-file",
                str(file),
            ],
            tmp,
        )
    ]
    for _ in range(400):
        if file.exists() and file.stat().st_size:
            break
        time.sleep(0.1)
    address = json.loads(file.read_text())["address"]
    for n in range(options.workers):
        # fresh workers every so often: the weather library leaks
        procs.append(
            start(
                [
                    "worker",
                    address,
                    "--nthreads",
                    "1",
                    "--memory-limit",
                    "300MiB",
                    "--name",
                    f"planner-{n}",
                    "--lifetime",
                    options.renew,
                    "--local-directory",
                    tmp,
                    "--dashboard-address",
                    ":0",
                ],
                tmp,
            )
        )
    return address, procs


def stop_cluster(procs):
    for proc in reversed(procs):
        if proc.poll() is None:
            proc.terminate()
    for proc in reversed(procs):
        try:
            proc.wait(15)
        except subprocess.TimeoutExpired:
            proc.kill()
            proc.wait()


def wind_profile(route):
    time.sleep(0.8)
    return [10 + 4 * math.sin(len(route) + h / 3) for h in range(48)]


def gust_margin(profile):
    time.sleep(0.3)
    return max(profile) * 1.4


def plan_season(season, margins):
    """Search over departure hours; takes its time."""
    best, end = None, time.monotonic() + 18
    hour = 0
    while time.monotonic() < end:
        cost = sum(m * (1 + 0.1 * math.cos(hour / 7)) for m in margins)
        best = min(best or cost, cost)
        hour += 1
        time.sleep(0.05)
    return season, best


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--renew", default="14s")
    parser.add_argument("--deadline", type=float, default=24.0)
    options = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    with tempfile.TemporaryDirectory(prefix="airships-") as tmp:
        address, procs = start_cluster(tmp, options)
        try:
            with Client(address) as client:
                client.wait_for_workers(options.workers, timeout=60)
                log.info("planning on %s, pid %d", address, os.getpid())
                winds = [
                    client.submit(wind_profile, r, key=f"wind_profile-{r}")
                    for r in ROUTES
                ]
                gusts = [
                    client.submit(gust_margin, w, key=f"gust_margin-{r}")
                    for r, w in zip(ROUTES, winds)
                ]
                wait(gusts, timeout=options.deadline)
                margins = client.gather(gusts)
                log.info("margins: %s", [round(m, 2) for m in margins])
                plans = [
                    client.submit(plan_season, s, margins, key=f"plan_season-{s}")
                    for s in SEASONS
                ]
                wait(plans, timeout=options.deadline)
                for season, cost in client.gather(plans):
                    log.info("%s: %.1f", season, cost)
        finally:
            stop_cluster(procs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
