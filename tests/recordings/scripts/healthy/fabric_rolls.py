"""Inspects fabric rolls on a pool of workers that comes and goes, as on spot machines."""

import logging
import os
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np
from dask.distributed import Client, as_completed

log = logging.getLogger("fabric_rolls")


def dask_command(*args):
    return subprocess.Popen([sys.executable, "-m", "dask", *args])


class Pool:
    def __init__(self, folder):
        self.folder = folder
        self.file = os.path.join(folder, "scheduler.json")
        self.scheduler = dask_command(
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--dashboard-address",
            ":0",
            "--scheduler-file",
            self.file,
        )
        self.workers = {}
        while not os.path.exists(self.file):
            time.sleep(0.2)

    def add(self, name):
        self.workers[name] = dask_command(
            "worker",
            "--scheduler-file",
            self.file,
            "--name",
            name,
            "--nthreads",
            "1",
            "--memory-limit",
            "220MiB",
            "--no-dashboard",
            "--local-directory",
            self.folder,
        )

    def take_away(self, name, how=signal.SIGTERM):
        log.warning("the market takes %s away (%s)", name, how.name)
        self.workers[name].send_signal(how)
        return self.workers.pop(name)

    def close(self):
        for p in [*self.workers.values(), self.scheduler]:
            p.terminate()
        for p in [*self.workers.values(), self.scheduler]:
            p.wait(20)


def scan_roll(roll):
    rng = np.random.default_rng(roll)
    time.sleep(0.3)
    return rng.normal(100, 4, (300, 80))


def find_faults(scan):
    return int((np.abs(scan - 100) > 14).sum())


def crash_once(folder):
    """The old camera driver takes its process along the first time it is opened."""
    marker = os.path.join(folder, "driver-opened")
    if not os.path.exists(marker):
        open(marker, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return "camera ready"


def inspect(client, pool, rolls):
    faults = client.map(find_faults, client.map(scan_roll, rolls))
    total, gone = 0, None
    for n, future in enumerate(as_completed(faults)):
        total += future.result()
        if n == 8:
            gone = pool.take_away("spot-1")
            pool.add("spot-3")
    code = gone.wait(30)
    log.warning("spot-1 ended with %s", code)
    return total


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    with tempfile.TemporaryDirectory(
        prefix="rolls-", ignore_cleanup_errors=True
    ) as folder:
        pool = Pool(folder)
        try:
            pool.add("spot-1")
            pool.add("spot-2")
            with Client(scheduler_file=pool.file) as client:
                client.wait_for_workers(2, timeout=40)
                log.info(
                    client.submit(crash_once, folder, pure=False).result(timeout=60)
                )
                client.wait_for_workers(2, timeout=40)
                total = inspect(client, pool, range(40))
                log.info("%d faults in 40 rolls", total)
        finally:
            pool.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
