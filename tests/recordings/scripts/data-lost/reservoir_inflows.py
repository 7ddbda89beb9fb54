"""Seasonal inflow forecast of the reservoirs.

The snow map is scattered once and used by every basin.  Hosts of the farm are
exchanged for fresh ones in the middle of the run, because they are rented by
the quarter of an hour.
"""

import logging
import socket
import subprocess
import sys
import time

import numpy as np
from dask.distributed import Client, fire_and_forget

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("inflows")
BASINS = {"upper": [1, 4, 6], "middle": [2, 3], "lower": [5, 7, 8, 9]}


class RentedFarm:
    def __init__(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{port}"
        self.scheduler = self._run(
            "scheduler", "--host", "127.0.0.1", "--port", str(port)
        )
        self.hosts = {}

    def _run(self, *args):
        return subprocess.Popen(
            [sys.executable, "-m", "dask", *args, "--no-dashboard"],
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )

    def rent(self, name):
        log.info("renting %s", name)
        self.hosts[name] = self._run(
            "worker",
            self.address,
            "--no-nanny",
            "--nthreads",
            "1",
            "--name",
            name,
            "--memory-limit",
            "300MB",
        )

    def give_back(self, name):
        log.info("giving %s back", name)
        host = self.hosts.pop(name)
        host.terminate()
        host.wait(20)

    def close(self):
        for name in list(self.hosts):
            self.give_back(name)
        self.scheduler.terminate()
        self.scheduler.wait(20)


def snow_map(seed):
    return np.random.default_rng(seed).gamma(2, 0.3, (600, 600))


def melt(snow, basin, cells):
    time.sleep(0.2)
    return basin, float(sum(snow[c * 50 : (c + 1) * 50].sum() for c in cells))


def audit(text):
    time.sleep(0.01)
    return len(text)


def forecast(client, snow, which):
    futures = [
        client.submit(melt, snow, b, tuple(c)) for b, c in BASINS.items() if b in which
    ]
    for basin, volume in client.gather(futures):
        log.info("%s: %.0f hm3", basin, volume)


def main():
    farm = RentedFarm()
    try:
        with Client(farm.address, timeout=30) as client:
            for name in ("host-1", "host-2"):
                farm.rent(name)
            client.wait_for_workers(2, timeout=30)
            snow = client.scatter(snow_map(2026), workers=["host-1"])
            forecast(client, snow, {"upper"})
            fire_and_forget(client.submit(audit, "upper done"))

            farm.rent("host-3")
            client.wait_for_workers(3, timeout=30)
            for old in ("host-2", "host-1"):
                farm.give_back(old)
            farm.rent("host-4")
            client.wait_for_workers(2, timeout=30)
            time.sleep(1)
            forecast(client, snow, {"middle", "lower"})
    finally:
        farm.close()


if __name__ == "__main__":
    main()
