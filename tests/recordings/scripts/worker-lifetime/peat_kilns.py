"""Firing simulation of the peat kilns, run from the site office.

Workers are taken from the overnight pool by our own small launcher; the pool hands out slots for a fixed time.
"""

import logging
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from distributed import Client, LocalCluster

log = logging.getLogger("kilns")


class Slots:
    """Starts `dask worker` processes as the pool's launcher does."""

    def __init__(self, address, slots, minutes, logs):
        self.address, self.slots, self.minutes = address, slots, minutes
        self.logs = Path(logs)
        self.processes = []

    def __enter__(self):
        for n in range(self.slots):
            command = [
                sys.executable,
                "-m",
                "dask",
                "worker",
                self.address,
                "--nthreads",
                "1",
                "--no-dashboard",
                "--name",
                f"slot-{n}",
                "--memory-limit",
                "300MB",
                "--host",
                "127.0.0.1",
                "--lifetime",
                f"{self.minutes * 60:.0f} seconds",
            ]
            with open(self.logs / f"slot-{n}.log", "w") as out:
                self.processes.append(subprocess.Popen(command, stdout=out, stderr=out))
        return self

    def __exit__(self, *exc_info):
        for process in self.processes:
            if process.poll() is None:
                process.terminate()
        for process in self.processes:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
        return False


def preheat(kiln):
    time.sleep(0.5)
    return {"kiln": kiln, "temperature": 180.0 + kiln}


def fire_kiln(state, hours=30):
    """Explicit scheme, one step of an hour of firing after the other."""
    temperature = state["temperature"]
    for hour in range(hours):
        temperature += 35 * math.exp(-hour / 9) - 0.01 * (temperature - 20)
        time.sleep(0.5)
    return {**state, "temperature": round(temperature, 1)}


def report(states):
    return "\n".join(f"kiln {s['kiln']}: {s['temperature']} degrees" for s in states)


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    with (
        LocalCluster(n_workers=0, dashboard_address=None) as cluster,
        tempfile.TemporaryDirectory() as logs,
    ):
        with (
            Client(cluster) as client,
            Slots(cluster.scheduler_address, slots=2, minutes=0.15, logs=logs),
        ):
            client.wait_for_workers(2, timeout=30)
            heated = client.map(preheat, range(4))
            fired = client.map(fire_kiln, heated)
            text = client.submit(report, fired)
            log.info("firing %d kilns", len(fired))
            try:
                print(text.result(timeout=24))
            except TimeoutError:
                log.error("no report: %s", {f.key: f.status for f in fired})
                raise


if __name__ == "__main__":
    main()
