"""Lagoon salinity forecast, two stages with a cluster of their own each.

Stage one cleans the probe readings, stage two runs the mixing model.  Stages are separated since the second needs
other worker sizes.  Both find their scheduler by the file that the start command writes ("current.json").
"""

import json
import logging
import pathlib
import subprocess
import sys
import time

import numpy as np
from distributed import Client, wait

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("salinity")

SCHEDULER_FILE = pathlib.Path("run") / "current.json"
BOOT = """
import subprocess, sys, time
# the model's lookup tables are unpacked before the scheduler may accept work
time.sleep(float(sys.argv[1]))
sys.exit(subprocess.call([sys.executable, "-m", "dask", "scheduler", "--host", "127.0.0.1", "--port", "0",
                          "--dashboard-address", ":0", "--scheduler-file", sys.argv[2]]))
"""


class Stage:
    def __init__(self, name, workers, memory, unpack):
        self.name, self.workers, self.memory, self.unpack = (
            name,
            workers,
            memory,
            unpack,
        )
        self.scheduler = None
        self.crew = []

    def start(self):
        log.info("stage %s: starting", self.name)
        self.scheduler = subprocess.Popen(
            [sys.executable, "-c", BOOT, str(self.unpack), str(SCHEDULER_FILE)],
            start_new_session=True,
        )
        deadline = time.monotonic() + 20
        while not SCHEDULER_FILE.exists():
            if time.monotonic() > deadline:
                raise RuntimeError(f"stage {self.name}: no scheduler file after 20 s")
            time.sleep(0.2)
        for number in range(self.workers):
            self.crew.append(
                subprocess.Popen(
                    [
                        sys.executable,
                        "-m",
                        "dask",
                        "worker",
                        "--scheduler-file",
                        str(SCHEDULER_FILE),
                        "--nthreads",
                        "1",
                        "--no-nanny",
                        "--memory-limit",
                        self.memory,
                        "--name",
                        f"{self.name}-{number}",
                        "--no-dashboard",
                        "--death-timeout",
                        "12",
                    ]
                )
            )
        return Client(
            scheduler_file=str(SCHEDULER_FILE), timeout=7, name=f"salinity-{self.name}"
        )

    def stop(self):
        import os
        import signal

        for process in self.crew:
            process.terminate()
        for process in self.crew:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
        if self.scheduler and self.scheduler.poll() is None:
            os.killpg(self.scheduler.pid, signal.SIGKILL)
            self.scheduler.wait()
        log.info("stage %s: stopped", self.name)


def clean(probe):
    rng = np.random.default_rng(probe)
    readings = rng.normal(31, 2, size=2_000)
    readings[rng.integers(0, 2_000, 15)] = np.nan
    return probe, float(np.nanmean(readings))


def mix(salt, inflow, steps=400):
    grid = np.full((60, 60), salt)
    for _ in range(steps):
        grid[0, :] = inflow
        grid[1:-1, 1:-1] += 0.2 * (
            grid[:-2, 1:-1]
            + grid[2:, 1:-1]
            + grid[1:-1, :-2]
            + grid[1:-1, 2:]
            - 4 * grid[1:-1, 1:-1]
        )
    return float(grid.mean())


def run(stage, work):
    try:
        with stage.start() as client:
            client.wait_for_workers(stage.workers, timeout=15)
            return work(client)
    finally:
        stage.stop()


def cleaning(client):
    futures = client.map(clean, range(16))
    wait(futures, timeout=20)
    return dict(client.gather(futures))


def main():
    SCHEDULER_FILE.parent.mkdir(exist_ok=True)
    salts = run(Stage("cleaning", workers=1, memory="300MB", unpack=0.0), cleaning)
    log.info(
        "%d probes cleaned, mean %.2f", len(salts), sum(salts.values()) / len(salts)
    )

    def forecast(client):
        futures = [client.submit(mix, salt, 18.0) for salt in salts.values()]
        return client.gather(futures)

    means = run(Stage("mixing", workers=2, memory="400MB", unpack=4.0), forecast)
    pathlib.Path("forecast.json").write_text(json.dumps(means))


if __name__ == "__main__":
    main()
