"""Discharge of mountain streams: water levels of each gauge become discharges by a rating table.

The service runs for days, so its workers are renewed while it goes on.
"""

import logging
import socket
import subprocess
import sys
import tempfile
import time

import numpy as np
import pandas as pd
from distributed import Client

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
log = logging.getLogger("gauges")


def port_for_scheduler():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Fleet:
    """Workers that can be renewed while the service runs."""

    def __init__(self):
        port = port_for_scheduler()
        self.address = f"tcp://127.0.0.1:{port}"
        self.scheduler = self.dask(
            "scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"
        )
        self.members = {}
        self.generation = 0

    def dask(self, *args):
        return subprocess.Popen(
            [sys.executable, "-m", "dask", *args], stderr=subprocess.DEVNULL
        )

    def hire(self):
        name = f"stream-{self.generation}"
        self.generation += 1
        self.members[name] = self.dask(
            "worker",
            self.address,
            "--name",
            name,
            "--nthreads",
            "1",
            "--memory-limit",
            "300MB",
            "--no-nanny",
            "--no-dashboard",
            "--local-directory",
            tempfile.mkdtemp(),
        )
        return name

    def renew(self, client, names):
        for name in names:
            log.info("%s is renewed by %s", name, self.hire())
        client.wait_for_workers(len(self.members), timeout=20)
        for name in names:
            old = self.members.pop(name)
            old.terminate()
            old.wait(15)

    def dismiss(self):
        for process in [*self.members.values(), self.scheduler]:
            process.terminate()
            try:
                process.wait(6)
            except subprocess.TimeoutExpired:
                process.kill()


def rating_table():
    level = np.linspace(0, 6, 601)
    return pd.DataFrame({"level": level, "discharge": 4.2 * level**1.7})


def levels(gauge, day):
    rng = np.random.default_rng(gauge * 100 + day)
    return pd.Series(rng.uniform(0.2, 5.5, 96))


def discharge(series, rating):
    return float(np.interp(series, rating["level"], rating["discharge"]).mean())


def catchment(means):
    return {"mean": float(np.mean(means)), "peak": float(np.max(means))}


def one_day(client, rating, day):
    series = client.map(levels, range(8), [day] * 8, pure=False)
    means = client.map(discharge, series, rating=rating, pure=False)
    return client.submit(catchment, means, pure=False).result(timeout=25)


def main():
    fleet = Fleet()
    try:
        first, second = fleet.hire(), fleet.hire()
        with Client(fleet.address, timeout=20) as client:
            client.wait_for_workers(2, timeout=20)
            # the second host always comes up with yesterday's image
            fleet.renew(client, [second])
            [rating] = client.scatter([rating_table()], workers=[first])
            for day in range(1, 6):
                log.info("day %d: %s", day, one_day(client, rating, day))
                if day == 3:
                    # the kernel has to be patched everywhere
                    fleet.renew(client, list(fleet.members))
                time.sleep(0.5)
    finally:
        fleet.dismiss()


if __name__ == "__main__":
    main()
