"""Drawbridge lifts: how long road traffic waited at the harbour's bridges yesterday.

The harbour office has no cluster of its own, so this job starts a scheduler and two workers with the ``dask``
command, runs the day's lifts through them and ends all three again, whatever happened.
"""

import json
import logging
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from distributed import Client

log = logging.getLogger("drawbridge")

BRIDGES = {
    "north": {"lanes": 2, "cars_per_minute": 14.0},
    "south": {"lanes": 4, "cars_per_minute": 31.0},
    "canal": {"lanes": 2, "cars_per_minute": 9.5},
    "railway": {"lanes": 0, "cars_per_minute": 0.0},
}


class HarbourCluster:
    """Scheduler and workers as plain child processes of this one."""

    def __init__(self, folder: Path, workers: int = 2):
        self.folder = folder
        self.workers = workers
        self.children: list[tuple[str, subprocess.Popen]] = []
        self.scheduler_file = folder / "scheduler.json"

    def _spawn(self, role: str, *arguments: str) -> None:
        out = open(self.folder / f"{role}.log", "w")
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", *arguments],
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        log.info("started %s with pid %d", role, process.pid)
        self.children.append((role, process))

    def start(self) -> None:
        self._spawn(
            "scheduler",
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            str(self.scheduler_file),
        )
        for number in range(self.workers):
            self._spawn(
                f"worker-{number}",
                "worker",
                "--scheduler-file",
                str(self.scheduler_file),
                "--nthreads",
                "1",
                "--no-dashboard",
                "--memory-limit",
                "400MB",
                "--local-directory",
                str(self.folder),
            )

    def stop(self) -> None:
        for role, process in reversed(self.children):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for role, process in reversed(self.children):
            try:
                code = process.wait(timeout=8)
            except subprocess.TimeoutExpired:
                process.kill()
                code = process.wait()
            log.warning("%s ended with code %s", role, code)


def read_lifts(bridge: str, seed: int) -> list[dict]:
    rng = random.Random(seed)
    time.sleep(0.4)
    return [
        {
            "bridge": bridge,
            "vessel": f"V{rng.randrange(900):03d}",
            "closed": rng.uniform(3, 14),
        }
        for _ in range(rng.randrange(10, 25))
    ]


def queue_of_lift(lift: dict) -> float:
    bridge = BRIDGES[lift["bridge"]]
    cars = bridge["cars_per_minute"] * lift["closed"]
    return cars / bridge["lanes"]


def summarise_bridge(lifts: list[dict]) -> dict:
    queues = [queue_of_lift(lift) for lift in lifts]
    time.sleep(0.3)
    return {
        "bridge": lifts[0]["bridge"],
        "lifts": len(lifts),
        "longest": round(max(queues), 1),
    }


def main() -> int:
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    with tempfile.TemporaryDirectory() as folder:
        cluster = HarbourCluster(Path(folder))
        try:
            cluster.start()
            client = Client(scheduler_file=str(cluster.scheduler_file), timeout=20)
            client.wait_for_workers(2, timeout=25)
            lifts = [
                client.submit(read_lifts, name, number)
                for number, name in enumerate(BRIDGES)
            ]
            reports = client.map(summarise_bridge, lifts)
            for report in client.gather(reports):
                print(json.dumps(report))
        finally:
            cluster.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
