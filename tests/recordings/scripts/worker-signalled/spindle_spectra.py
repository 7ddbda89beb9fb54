"""Spectra of the spindle bearings; a slow block asks its process for a stack dump."""

import os
import signal
import threading
import time

import dask
import numpy as np
from dask.distributed import Client, LocalCluster

dask.config.set({"distributed.scheduler.allowed-failures": 1})


class SlowGuard:
    """Requests a dump of all stacks when a block takes longer than it should."""

    def __init__(self, seconds):
        self.timer = threading.Timer(seconds, self.dump)
        self.timer.daemon = True

    def dump(self):
        os.kill(os.getpid(), signal.SIGUSR1)

    def __enter__(self):
        self.timer.start()
        return self

    def __exit__(self, *exc):
        self.timer.cancel()


def record(spindle):
    time.sleep(0.15)
    rng = np.random.default_rng(spindle)
    seconds = 600 if spindle == 14 else 60
    return rng.normal(size=(seconds, 1024)).astype("float32")


def spectrum(signal_rows, spindle):
    with SlowGuard(6):
        rows = 0.0
        for row in signal_rows:
            rows += np.abs(np.fft.rfft(row)).max()
            if len(signal_rows) > 100:
                time.sleep(0.1)
    return spindle, rows / len(signal_rows)


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="600MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            client.wait_for_workers(2)
            rows = client.map(record, range(24))
            print("samples:", sum(client.gather(client.map(len, rows))))
            spectra = [
                client.submit(spectrum, row, spindle, key=f"spectrum-{spindle}")
                for spindle, row in enumerate(rows)
            ]
            for spindle, peak in client.gather(spectra):
                print(spindle, round(peak, 1))


if __name__ == "__main__":
    main()
