"""Yield model of the cider presses; a supervisor thread keeps an eye on the workers."""

import logging
import os
import signal
import threading
import time

import dask
from dask.distributed import Client, LocalCluster, as_completed

log = logging.getLogger("presses")


def pressing(batch, kilos):
    """Iterate the press curve until it settles; big batches need longer."""
    pressure, juice = 1.0, 0.0
    for _ in range(kilos // 100):
        juice += kilos * 0.004 / pressure
        pressure *= 1.03
        time.sleep(0.1)
    return batch, round(juice, 1)


class Supervisor(threading.Thread):
    """Recycles workers that do not deliver: some of the old presses' curves never settle."""

    def __init__(self, client, quiet):
        super().__init__(name="supervisor", daemon=True)
        self.client = client
        self.quiet = quiet
        self.last = time.monotonic()
        self.over = threading.Event()

    def delivered(self):
        self.last = time.monotonic()

    def run(self):
        while not self.over.wait(0.25):
            if time.monotonic() - self.last > self.quiet:
                for address, pid in self.client.run(os.getpid).items():
                    log.info(
                        "nothing delivered for %.1f s, recycling pid %d",
                        self.quiet,
                        pid,
                    )
                    os.kill(pid, signal.SIGKILL)
                self.delivered()


def main():
    logging.basicConfig(level=logging.INFO)
    batches = {
        "Boskoop": 600,
        "Gravenstein": 900,
        "Glockenapfel": 700,
        "Bohnapfel": 9000,
    }
    with dask.config.set({"distributed.scheduler.allowed-failures": 2}):
        with (
            LocalCluster(
                n_workers=1, threads_per_worker=2, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            supervisor = Supervisor(client, quiet=3.5)
            supervisor.start()
            try:
                futures = client.map(pressing, list(batches), list(batches.values()))
                for future in as_completed(futures):
                    batch, litres = future.result()
                    supervisor.delivered()
                    print(f"{batch}: {litres} l")
            finally:
                supervisor.over.set()
                supervisor.join(5)


if __name__ == "__main__":
    main()
