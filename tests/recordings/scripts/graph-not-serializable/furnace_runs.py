"""Simulated runs of a steel furnace, to choose the next campaign's charge.

A run is a small heat balance with random scrap quality.  The simulator counts what it has done for the progress
line, and a helper repeats submissions, because the cluster in the melting shop is not always reachable.
"""

import functools
import logging
import random
import statistics
import threading
import time

from distributed import Client, LocalCluster

logging.basicConfig(level=logging.INFO, format="%(name)s | %(message)s")
log = logging.getLogger("furnace")


class SubmissionFailed(RuntimeError):
    """The shop's cluster did not take the work."""


def repeated(times, pause):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            last = None
            for turn in range(1, times + 1):
                try:
                    return function(*args, **kwargs)
                except Exception as e:
                    last = e
                    log.warning(
                        "%s: turn %d of %d did not work", function.__name__, turn, times
                    )
                    time.sleep(pause)
            raise SubmissionFailed(f"gave up after {times} turns") from last

        return wrapper

    return decorate


class Progress:
    def __init__(self):
        self.lock = threading.Lock()
        self.done = 0

    def step(self):
        with self.lock:
            self.done += 1


class Furnace:
    def __init__(self, tonnes, power_mw):
        self.tonnes = tonnes
        self.power_mw = power_mw
        self.progress = Progress()

    def tap_to_tap(self, seed):
        rng = random.Random(seed)
        energy = 0.0
        minutes = 0
        need = self.tonnes * rng.gauss(0.38, 0.02)
        while energy < need:
            energy += self.power_mw / 60 * rng.uniform(0.7, 0.95)
            minutes += 1
        self.progress.step()
        return minutes


def scrap_quality(lot):
    rng = random.Random(lot)
    return sum(rng.random() for _ in range(20_000)) / 20_000


@repeated(times=3, pause=0.5)
def lots(client, n):
    return client.gather(client.map(scrap_quality, range(n)))


@repeated(times=3, pause=0.5)
def campaign(client, furnace, runs):
    futures = client.map(furnace.tap_to_tap, range(runs), pure=False)
    return client.gather(futures)


def main():
    furnace = Furnace(tonnes=140, power_mw=95)
    log.info("trial on this machine: %d minutes", furnace.tap_to_tap(0))
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="300MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            try:
                quality = lots(client, 20)
                log.info("mean quality %.4f", statistics.mean(quality))
                minutes = campaign(client, furnace, 200)
                log.info("median %d minutes", statistics.median(minutes))
            finally:
                log.info("runs counted: %d", furnace.progress.done)


if __name__ == "__main__":
    main()
