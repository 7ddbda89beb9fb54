"""Crew rosters for the container cranes: demand per shift, then one solver run per terminal."""

from __future__ import annotations

import argparse
import itertools
import logging
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dask.distributed import Client, wait

log = logging.getLogger("rosters")

TERMINALS = ["east", "west", "river"]

# the units' environment file; both worker units read it
UNIT_ENV = """\
SCHEDULER_FILE={root}/scheduler.json
WORKER_HOST=127.0.0.1
WORKER_PORT={port}
WORKER_THREADS=1
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def read_env(path: Path) -> dict[str, str]:
    return dict(
        line.split("=", 1) for line in path.read_text().splitlines() if "=" in line
    )


class Units:
    """The three systemd units of the roster host, run in the foreground."""

    def __init__(self, root: Path):
        self.root = root
        self.env = read_env(root / "workers.env")
        self.running: dict[str, subprocess.Popen] = {}

    def start(self, unit: str, *words: str) -> None:
        log.info("start %s", unit)
        self.running[unit] = subprocess.Popen(
            [sys.executable, "-m", "dask", *words], cwd=self.root
        )

    def scheduler(self) -> None:
        self.start(
            "scheduler",
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--dashboard-address",
            ":0",
            "--scheduler-file",
            self.env["SCHEDULER_FILE"],
        )

    def worker(self, unit: str, *more: str) -> None:
        self.start(
            unit,
            "worker",
            "--scheduler-file",
            self.env["SCHEDULER_FILE"],
            "--host",
            self.env["WORKER_HOST"],
            "--worker-port",
            self.env["WORKER_PORT"],
            "--nthreads",
            self.env["WORKER_THREADS"],
            "--name",
            unit,
            "--no-dashboard",
            "--memory-limit",
            "400MB",
            "--local-directory",
            str(self.root / unit),
            *more,
        )

    def stop(self) -> None:
        for process in reversed(list(self.running.values())):
            if process.poll() is None:
                process.terminate()
        for process in self.running.values():
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def shift_demand(terminal: str, shift: int) -> int:
    """Gangs that the shift needs, from the berth plan."""
    time.sleep(0.3)
    return random.Random(f"{terminal}{shift}").randint(3, 7)


def solve_roster(terminal: str, demand: list[int]) -> dict:
    """Smallest crew that covers each shift with a day off in between."""
    best = None
    for crew in itertools.product(range(3, 9), repeat=3):
        if all(sum(crew) >= d + 4 for d in demand) and (
            best is None or sum(crew) < sum(best)
        ):
            best = crew
    return {"terminal": terminal, "crew": best}


def rosters(client: Client, patience: float) -> list[dict]:
    plans = []
    for terminal in TERMINALS:
        demand = [
            client.submit(shift_demand, terminal, s, key=f"shift_demand-{terminal}-{s}")
            for s in range(6)
        ]
        plans.append(
            client.submit(
                solve_roster,
                terminal,
                demand,
                resources={"solver": 1},
                key=f"solve_roster-{terminal}",
            )
        )
    try:
        wait(plans, timeout=patience)
    except TimeoutError:
        log.error("rosters are late, publishing what there is")
    return [plan.result() for plan in plans if plan.status == "finished"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--patience", type=float, default=25.0)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    with tempfile.TemporaryDirectory(prefix="rosters-") as tmp:
        root = Path(tmp)
        (root / "workers.env").write_text(
            UNIT_ENV.format(root=tmp, port=os.environ.get("ROSTER_PORT") or free_port())
        )
        units = Units(root)
        try:
            units.scheduler()
            units.worker("worker-general")
            with Client(
                scheduler_file=units.env["SCHEDULER_FILE"], timeout="60s"
            ) as client:
                client.wait_for_workers(1, timeout=60)
                units.worker("worker-solver", "--resources", "solver=1")
                done = rosters(client, args.patience)
        finally:
            units.stop()
    for roster in done:
        log.info("%(terminal)s: %(crew)s", roster)
    if len(done) < len(TERMINALS):
        sys.exit(f"rosters published for {len(done)} of {len(TERMINALS)} terminals")


if __name__ == "__main__":
    main()
