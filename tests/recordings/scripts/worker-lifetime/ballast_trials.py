"""Ship stability, nightly: trim every hull, then simulate the ballast trials; cluster started by hand as on the farm."""

import argparse
import logging
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from distributed import Client, wait

log = logging.getLogger("ballast_trials")

DASK = [sys.executable, "-m", "dask"]


class Farm:
    """One scheduler and some workers on this machine, all stopped at the end."""

    def __init__(self, folder, workers, slot):
        self.folder = Path(folder)
        self.workers = workers
        self.slot = slot
        self.processes = []

    @property
    def address_file(self):
        return self.folder / "scheduler.json"

    def spawn(self, *args):
        self.processes.append(subprocess.Popen([*DASK, *args], cwd=self.folder))

    def __enter__(self):
        self.spawn(
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--dashboard-address",
            ":0",
            "--scheduler-file",
            str(self.address_file),
        )
        deadline = time.monotonic() + 60
        while not self.address_file.exists():
            if time.monotonic() > deadline:
                raise RuntimeError("scheduler did not come up")
            time.sleep(0.2)
        for number in range(self.workers):
            self.spawn(
                "worker",
                "--scheduler-file",
                str(self.address_file),
                "--name",
                f"farm-{number}",
                "--nthreads",
                "1",
                "--memory-limit",
                "300MB",
                "--no-dashboard",
                "--local-directory",
                str(self.folder),
                "--lifetime",
                self.slot,
                "--death-timeout",
                "60",
            )
        return self

    def __exit__(self, *exc):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.terminate()
        for process in self.processes:
            try:
                process.wait(timeout=8)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def trim_hull(hull):
    rng = np.random.default_rng(hull)
    offsets = rng.normal(0, 1, size=(200, 40))
    return {"hull": hull, "trim": float(np.linalg.norm(offsets.mean(axis=0)))}


def simulate_trial(trim, sea_state):
    """Time stepping of one trial; a trial is minutes, not seconds."""
    roll, rate = trim["trim"], 0.0
    for step in range(400):
        rate += -0.3 * roll - 0.02 * rate + 0.01 * sea_state * np.sin(step / 7)
        roll += 0.1 * rate
        time.sleep(0.2)
    return {"hull": trim["hull"], "sea_state": sea_state, "roll": float(roll)}


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hulls", type=int, default=10)
    parser.add_argument(
        "--slot", default="18s", help="how long a machine of the farm is ours"
    )
    parser.add_argument(
        "--patience",
        type=int,
        default=12,
        help="seconds without any worker before we give up",
    )
    return parser.parse_args()


def collect(client, trials, patience):
    """Wait for the trials as long as there are workers; without any, only for a while."""
    alone = 0
    while True:
        try:
            wait(trials, timeout=2)
            return client.gather(trials)
        except TimeoutError:
            alone = 0 if client.scheduler_info(n_workers=-1)["workers"] else alone + 2
        if alone >= patience:
            done = sum(t.status == "finished" for t in trials)
            raise SystemExit(
                f"no worker for {alone} s, {done} of {len(trials)} trials done"
            )


def main():
    args = parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    with (
        tempfile.TemporaryDirectory(prefix="ballast-") as tmp,
        Farm(tmp, 2, args.slot) as farm,
    ):
        with Client(scheduler_file=str(farm.address_file), timeout=60) as client:
            client.wait_for_workers(1, timeout=60)
            hulls = client.gather(client.map(trim_hull, range(args.hulls)))
            log.info("%d hulls trimmed", len(hulls))
            trials = client.map(simulate_trial, hulls[:4], sea_state=5)
            log.info("%d trials submitted", len(trials))
            results = collect(client, trials, args.patience)
            worst = max(results, key=lambda r: abs(r["roll"]))
            log.info(
                "worst roll: hull %(hull)s in sea state %(sea_state)s: %(roll).2f",
                worst,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
