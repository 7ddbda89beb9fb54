"""Quote freight lanes; a guard keeps workers from running stale quotes."""

import os
import signal
import threading
import time

import dask
from dask.distributed import Client, LocalCluster, WorkerPlugin


class FreshnessGuard(WorkerPlugin):
    """Stops a worker whose quote has been running longer than allowed."""

    def __init__(self, seconds):
        self.seconds = seconds

    def setup(self, worker):
        self.worker = worker
        self.began = {}
        threading.Thread(target=self.watch, daemon=True).start()

    def transition(self, key, start, finish, **kwargs):
        if finish == "executing":
            self.began[key] = time.monotonic()
        else:
            self.began.pop(key, None)

    def watch(self):
        while True:
            time.sleep(0.2)
            for key, t0 in list(self.began.items()):
                if time.monotonic() - t0 > self.seconds:
                    os.kill(os.getpid(), signal.SIGKILL)


def quote(lane, legs):
    time.sleep(0.15 * legs)
    return lane, 410 + 95 * legs


def main():
    with dask.config.set({"distributed.scheduler.allowed-failures": 1}):
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            client.register_plugin(FreshnessGuard(1.5), name="guard")
            lanes = [
                ("HAM-RTM", 1),
                ("HAM-LEH", 2),
                ("GOA-PIR", 3),
                ("SHA-RTM", 20),
                ("ANR-FXT", 1),
            ]
            futures = [
                client.submit(quote, lane, legs, key=f"quote-{lane}")
                for lane, legs in lanes
            ]
            print(dict(client.gather(futures)))


if __name__ == "__main__":
    main()
