"""Tear tests of fibre lots; the run has to be over before the press line starts."""

import os
import signal
import threading
import time

import numpy as np
from dask.distributed import Client, LocalCluster


class PressLine(threading.Thread):
    """Watches the clock: at the start of the press line the workstation must be free."""

    def __init__(self, seconds):
        super().__init__(daemon=True)
        self.seconds = seconds

    def run(self):
        time.sleep(self.seconds)
        os.kill(os.getpid(), signal.SIGINT)


def prepare(lot):
    time.sleep(0.2)
    return np.random.default_rng(lot).normal(30, 4, 500)


def tear(fibres, lot):
    cycles = 20 if lot != 11 else 20_000
    load = 0.0
    for _ in range(cycles):
        load += float(fibres.min()) * 0.01
        time.sleep(0.02)
    return lot, load


def main():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            client.wait_for_workers(2)
            lots = client.map(prepare, range(16))
            means = client.gather(client.map(np.mean, lots))
            print(
                "lots:", len(means), "mean diameter:", round(float(np.mean(means)), 2)
            )
            PressLine(14).start()
            torn = [
                client.submit(tear, fibres, lot, key=f"tear-{lot}")
                for lot, fibres in enumerate(lots)
            ]
            results = dict(client.gather(torn))
            print("strongest:", max(results, key=results.get))


if __name__ == "__main__":
    main()
