"""Nightly blend planning for the juice plants.

Starts a small farm of its own (one scheduler, two workers as plain
processes), computes the cheapest nectar blend of every plant, and writes the
plan that the bottling lines read at five in the morning.
"""

import argparse
import json
import logging
import random
import socket
import subprocess
import sys
import time
from pathlib import Path

from dask.distributed import Client, as_completed

log = logging.getLogger("nectar")

CONTRACTS = {
    "lisbon": {"sugar": 0.11, "litres": 42_000},
    "porto": {"sugar": 0.12, "litres": 18_000},
    "faro": {"sugar": 0.10, "litres": 7_500},
    "braga": {"sugar": 0.115, "litres_per_day": 9_900},
}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Farm:
    """Scheduler and workers as child processes of the planner."""

    def __init__(self, workers, log_dir):
        self.port = free_port()
        self.log_dir = log_dir
        self.children = []
        self.address = f"tcp://127.0.0.1:{self.port}"
        self._start(
            "scheduler",
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            str(self.port),
            "--no-dashboard",
        )
        for i in range(workers):
            self._start(
                f"worker-{i}",
                "worker",
                self.address,
                "--no-nanny",
                "--nthreads",
                "1",
                "--name",
                f"press-{i}",
                "--no-dashboard",
            )

    def _start(self, label, *args):
        out = open(self.log_dir / f"{label}.log", "w")
        self.children.append(
            subprocess.Popen(
                [sys.executable, "-m", "dask", *args], stdout=out, stderr=out
            )
        )

    def tear_down(self):
        # the machine is shared: nothing may be left behind, whatever happens
        for child in self.children:
            child.kill()
        for child in self.children:
            child.wait()


def blend_cost(plant, sugar, seed):
    rng = random.Random(seed)
    time.sleep(0.4)
    fruit = [rng.uniform(0.05, 0.16) for _ in range(2000)]
    near = [f for f in fruit if abs(f - sugar) < 0.01]
    return plant, round(sum(near) / max(1, len(near)), 4)


def simulate_line(plant, minutes):
    time.sleep(minutes)
    return plant, minutes


def plan_volumes(costs):
    plan = {}
    for plant, cost in sorted(costs.items()):
        litres = CONTRACTS[plant]["litres"]
        plan[plant] = {"cost": cost, "litres": litres}
    return plan


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--date", default="2026-11-28")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    log_dir = Path("farm-logs")
    log_dir.mkdir(exist_ok=True)

    farm = Farm(args.workers, log_dir)
    try:
        client = Client(farm.address, timeout=30)
        client.wait_for_workers(args.workers, timeout=30)
        log.info("farm up, planning for %s", args.date)
        lines = [
            client.submit(simulate_line, p, 8 + i, pure=False, priority=-10)
            for i, p in enumerate(CONTRACTS)
        ]
        futures = [
            client.submit(blend_cost, plant, c["sugar"], seed, priority=10)
            for seed, (plant, c) in enumerate(CONTRACTS.items())
        ]
        costs = {}
        for future, (plant, cost) in as_completed(futures, with_results=True):
            log.info("blend of %s: %s", plant, cost)
            costs[plant] = cost
        plan = plan_volumes(costs)
        plan["lines"] = client.gather(lines)
        Path(f"plan-{args.date}.json").write_text(json.dumps(plan, indent=1))
    finally:
        farm.tear_down()
        log.info("farm torn down")


if __name__ == "__main__":
    main()
