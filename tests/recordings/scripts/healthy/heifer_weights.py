"""Heifer weights: daily gain of each animal from the scales at the water troughs.

Workers come from the farms' spare machines, whenever one is free: the job
starts with the first and takes the others as they come.
"""

import logging
import subprocess
import sys
import threading
import time

import numpy as np
from distributed import Client, LocalCluster, as_completed

log = logging.getLogger("heifers")


class SpareMachines(threading.Thread):
    """Offers workers one after the other, with pauses."""

    def __init__(self, address, pauses):
        super().__init__(daemon=True)
        self.address = address
        self.pauses = pauses
        self.procs = []
        self.enough = threading.Event()

    def run(self):
        for number, pause in enumerate(self.pauses):
            if self.enough.wait(pause):
                return
            log.info("machine %d is free", number)
            self.procs.append(
                subprocess.Popen(
                    [
                        sys.executable,
                        "-m",
                        "distributed.cli.dask_worker",
                        self.address,
                        "--name",
                        f"farm-{number}",
                        "--nthreads",
                        "1",
                        "--memory-limit",
                        "350MB",
                        "--no-dashboard",
                        "--death-timeout",
                        "30",
                    ]
                )
            )

    def release(self):
        self.enough.set()
        self.join()
        for proc in self.procs:
            proc.terminate()
        for proc in self.procs:
            proc.wait()


def weighings(animal, days):
    rng = np.random.default_rng(animal)
    time.sleep(0.15)
    day = np.repeat(np.arange(days), 6)
    weight = 320 + animal % 40 + 0.85 * day + rng.normal(0, 6, day.size)
    weight[rng.random(day.size) < 0.03] = np.nan
    return day, weight


def daily_gain(pair):
    day, weight = pair
    good = ~np.isnan(weight)
    slope, _ = np.polyfit(day[good], weight[good], 1)
    time.sleep(0.05)
    return float(slope)


def main(animals=150, days=60):
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    with (
        LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        machines = SpareMachines(cluster.scheduler_address, pauses=[3, 4, 4])
        machines.start()
        try:
            raw = client.map(weighings, range(animals), days=days)
            gains = client.map(daily_gain, raw)
            del raw
            done = []
            for _, gain in as_completed(gains, with_results=True):
                done.append(gain)
                if len(done) % 50 == 0:
                    workers = len(client.scheduler_info(n_workers=-1)["workers"])
                    log.info("%d animals on %d workers", len(done), workers)
        finally:
            machines.release()
    slow = sum(gain < 0.8 for gain in done)
    log.info(
        "mean gain %.3f kg a day, %d animals below 0.8", float(np.mean(done)), slow
    )
    assert len(done) == animals


if __name__ == "__main__":
    main()
