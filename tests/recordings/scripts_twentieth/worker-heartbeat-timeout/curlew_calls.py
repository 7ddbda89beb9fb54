"""Find curlew calls in the recordings of the marsh stations, evening by evening."""

import argparse
import ctypes
import logging
import sys

import dask
import numpy as np
from distributed import Client, LocalCluster

log = logging.getLogger("curlew")

RATE = 8000
EVENINGS = {
    "may-02": ["take-11", "take-12"],
    "may-03": ["take-21", "take-22"],
    "may-04": ["take-31"],
    "may-05": ["take-41", "take-42"],
}

# The new recorder firmware gives the settling time in microseconds.
HEADERS = {"take-31": {"firmware": "4.0", "settle": 90_000}}
DEFAULT_HEADER = {"firmware": "3.2", "settle": 90}


class Recorder:
    """Thin binding to the recorder's C library."""

    def __init__(self):
        self._lib = ctypes.PyDLL(None)

    def settle(self, milliseconds):
        """Let the filters settle before the samples are read."""
        self._lib.usleep(ctypes.c_uint(milliseconds * 1000))

    def samples(self, take, seconds=20):
        rng = np.random.default_rng(int(take.split("-")[1]))
        t = np.arange(RATE * seconds) / RATE
        call = np.sin(2 * np.pi * 1600 * t) * (np.sin(2 * np.pi * 0.3 * t) > 0.8)
        return call + rng.normal(0, 0.4, t.size)


def read_take(take):
    header = HEADERS.get(take, DEFAULT_HEADER)
    recorder = Recorder()
    recorder.settle(header["settle"])
    return recorder.samples(take)


def find_calls(take):
    """Number of half seconds in which the band of the curlew stands out."""
    signal = read_take(take)
    frames = signal[: signal.size // 4000 * 4000].reshape(-1, 4000)
    power = np.abs(np.fft.rfft(frames, axis=1)) ** 2
    freqs = np.fft.rfftfreq(4000, 1 / RATE)
    band = power[:, (freqs > 1400) & (freqs < 1800)].sum(axis=1)
    return {"take": take, "calls": int((band > 4 * np.median(band)).sum())}


def evening(client, name, takes):
    found = client.gather(client.map(find_calls, takes))
    total = sum(f["calls"] for f in found)
    log.info("%s: %d calls in %d takes", name, total, len(takes))
    return total


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worker-ttl", default="12s")
    args = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")

    settings = {
        "distributed.scheduler.worker-ttl": args.worker_ttl,
        "distributed.scheduler.allowed-failures": 0,
    }
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        totals = {
            name: evening(client, name, takes) for name, takes in EVENINGS.items()
        }
        best = max(totals, key=totals.get)
        log.info("most calls on %s: %d", best, totals[best])
    return 0


if __name__ == "__main__":
    sys.exit(main())
