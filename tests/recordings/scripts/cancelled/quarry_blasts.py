"""Vibration report of the quarry: every blast's trace is filtered on the cluster before the morning shift."""

import argparse
import logging
import signal
import time

import numpy as np
from dask.distributed import Client, LocalCluster

log = logging.getLogger("quarry")


def trace(blast, samples=20_000):
    rng = np.random.default_rng(blast)
    t = np.arange(samples) / 2000
    return np.exp(-t) * np.sin(40 * t) * (3 + blast % 5) + rng.normal(0, 0.1, samples)


def peak_velocity(blast):
    signal_ = trace(blast)
    window = np.hanning(301)
    smooth = np.convolve(signal_, window / window.sum(), mode="same")
    time.sleep(0.5 if blast % 9 else 2.5)
    return blast, float(np.abs(smooth).max())


class ShiftWindow:
    """Leaves the machines to the morning shift when the night's slot is over."""

    def __init__(self, client, seconds):
        self.client = client
        self.seconds = seconds
        self.futures = []

    def __enter__(self):
        self.previous = signal.signal(signal.SIGALRM, self.over)
        signal.setitimer(signal.ITIMER_REAL, self.seconds)
        return self

    def over(self, signum, frame):
        pending = [f for f in self.futures if f.status == "pending"]
        log.info(
            "slot of %.0f s used up, releasing %d traces", self.seconds, len(pending)
        )
        self.client.cancel(
            pending, reason="slot-over", msg="released for the morning shift"
        )

    def __exit__(self, *exc):
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self.previous)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--slot", type=float, default=6)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        with ShiftWindow(client, args.slot) as window:
            window.futures = client.map(peak_velocity, range(45))
            peaks = dict(client.gather(window.futures))
        worst = max(peaks, key=peaks.get)
        print(f"blast {worst}: {peaks[worst]:.2f} mm/s")


if __name__ == "__main__":
    main()
