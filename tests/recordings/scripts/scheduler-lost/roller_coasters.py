"""Safety file of the roller coasters: forces on every car, the inspector's reading in between, then fatigue of the axles."""

import atexit
import json
import logging
import os
import subprocess
import sys
import time

import numpy as np
from distributed import Client

os.environ.setdefault("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "5s")
logging.basicConfig(level=logging.INFO, format="[%(name)s] %(message)s")
log = logging.getLogger("coasters")

CONFIG = {
    "rides": ["kestrel", "mine-train", "old-woodie", "sea-serpent"],
    "cluster": {"workers": 2, "arguments": ["--idle-timeout", "5 seconds"]},
    "inspector_minutes": 0.25,
}


class OfficeCluster:
    """Scheduler and workers as separate programs, so that the dashboards of two jobs do not get into each other's way."""

    def __init__(self, workers, arguments):
        self.file = "office.json"
        self.children = [
            self.start(
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--no-dashboard",
                "--scheduler-file",
                self.file,
                *arguments,
            )
        ]
        for n in range(workers):
            self.children.append(
                self.start(
                    "worker",
                    "--scheduler-file",
                    self.file,
                    "--name",
                    f"desk-{n}",
                    "--no-dashboard",
                    "--nthreads",
                    "1",
                    "--memory-limit",
                    "400MB",
                    "--death-timeout",
                    "20",
                )
            )
        atexit.register(self.stop)

    @staticmethod
    def start(kind, *arguments):
        out = open(f"{kind}.log", "a")
        return subprocess.Popen(
            [sys.executable, "-m", "dask", kind, *arguments], stdout=out, stderr=out
        )

    def stop(self):
        for child in reversed(self.children):
            if child.poll() is None:
                child.terminate()
        for child in self.children:
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                child.kill()


def car_forces(ride, samples=20_000):
    rng = np.random.default_rng(len(ride))
    track = np.cumsum(rng.normal(size=samples)) / 50
    time.sleep(0.4)
    return np.abs(np.gradient(np.gradient(track)))


def axle_fatigue(forces, limit):
    cycles = np.histogram(forces, bins=64)[0]
    return float((cycles / limit).sum())


def ask_inspector(peaks, minutes):
    """The inspector reads the peaks and sets the limits; here a stand-in who takes his time."""
    log.info("peaks to the inspector: %s", json.dumps(peaks))
    time.sleep(minutes * 60)
    return {ride: 5e5 / (1 + peak) for ride, peak in peaks.items()}


def main(config):
    office = OfficeCluster(**config["cluster"])
    client = Client(scheduler_file=office.file, timeout=20)
    client.wait_for_workers(config["cluster"]["workers"], timeout=20)
    forces = {ride: client.submit(car_forces, ride) for ride in config["rides"]}
    peaks = {ride: round(float(f.result().max()), 3) for ride, f in forces.items()}

    limits = ask_inspector(peaks, config["inspector_minutes"])

    damage = {
        ride: client.submit(axle_fatigue, forces[ride], limits[ride])
        for ride in config["rides"]
    }
    try:
        for ride, future in damage.items():
            print(f"{ride:12s} {future.result(timeout=15):.4f}")
    finally:
        client.close(timeout=3)


if __name__ == "__main__":
    main(CONFIG)
