"""Gait analysis of camera-trap clips of tapirs, with a ledger of the clips in work."""

import argparse
import ctypes
import logging
import os
import tempfile
import time

import dask
import numpy as np
from distributed import Client, LocalCluster

log = logging.getLogger("gaits")

CLIPS = [f"clip-{n:03d}" for n in range(20)]


class ClipLedger:
    """Every clip that is checked out must be returned before the ledger is closed."""

    def __init__(self):
        self.out = {}
        self.returned = {}

    def check_out(self, clip):
        self.out[clip] = time.time()

    def give_back(self, clip, cadence):
        del self.out[clip]
        self.returned[clip] = cadence

    def __enter__(self):
        return self

    def __exit__(self, kind, exc, tb):
        log.info("ledger: %d clips returned, %d out", len(self.returned), len(self.out))
        if self.out:
            names = ", ".join(sorted(self.out)[:4])
            raise RuntimeError(
                f"ledger does not balance: {len(self.out)} clips not returned ({names}, ...)"
            ) from None
        return False


class LimbTracker:
    """The part of the native tracker that is used here."""

    def __init__(self):
        self.lib = ctypes.CDLL(None)

    def track(self, frames, stride):
        if stride < 1:
            os.write(
                2,
                b"limbtrack: src/pyramid.c:218: build_pyramid: Assertion `stride > 0' failed.\n",
            )
            self.lib.abort()
        return frames[::stride].mean(axis=(1, 2))


def decode_clip(clip):
    number = int(clip.split("-")[1])
    rng = np.random.default_rng(number)
    # some cameras run at a third of the frames per second
    fps = 30 if number % 7 else 10
    if number == 13:
        fps = 8
    time.sleep(0.2)
    return {"clip": clip, "fps": fps, "frames": rng.random((fps * 6, 24, 32))}


def track_limbs(decoded):
    stride = decoded["fps"] // 10
    signal = LimbTracker().track(decoded["frames"], stride)
    return {"clip": decoded["clip"], "signal": signal, "rate": decoded["fps"] / stride}


def find_cadence(track):
    spectrum = np.abs(np.fft.rfft(track["signal"] - track["signal"].mean()))
    peak = int(spectrum[1:].argmax()) + 1
    return round(peak * track["rate"] / len(track["signal"]), 3)


def analyse(client, ledger, clips):
    futures = {}
    for clip in clips:
        ledger.check_out(clip)
        decoded = client.submit(decode_clip, clip)
        tracked = client.submit(track_limbs, decoded)
        futures[clip] = client.submit(find_cadence, tracked)
    for clip, cadence in client.gather(futures).items():
        ledger.give_back(clip, cadence)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=10)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    dask.config.set({"distributed.scheduler.allowed-failures": 2})

    with tempfile.TemporaryDirectory(prefix="gaits-") as scratch:
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                dashboard_address=":0",
                local_directory=scratch,
            ) as cluster,
            Client(cluster) as client,
        ):
            with ClipLedger() as ledger:
                for start in range(0, len(CLIPS), args.batch):
                    analyse(client, ledger, CLIPS[start : start + args.batch])
                    log.info("batch from %d done", start)
            log.info("mean cadence %.3f Hz", np.mean(list(ledger.returned.values())))


if __name__ == "__main__":
    main()
