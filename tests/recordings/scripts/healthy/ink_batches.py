"""Viscosity curves of the ink batches mixed today.

The rheometer's library holds a licence per process; it ends the process when the
licence server recalls the seat, and the batch is then done elsewhere.
"""

import os
import time
from pathlib import Path

import numpy as np
from dask.distributed import Client, LocalCluster


class Licence:
    """One seat of the rheometer's library."""

    def __init__(self, folder):
        self.recall = Path(folder) / "recall"

    def __enter__(self):
        return self

    def check(self):
        try:
            self.recall.unlink()
        except FileNotFoundError:
            return
        os._exit(75)

    def __exit__(self, *exc):
        return False


def measure(batch):
    rng = np.random.default_rng(batch)
    time.sleep(0.2)
    rates = np.logspace(-1, 3, 200)
    return rates, 12 * rates**-0.3 + rng.normal(0, 0.01, rates.size)


def fit_curve(sample, batch, folder):
    rates, viscosity = sample
    with Licence(folder) as seat:
        time.sleep(0.3)
        if batch == 9:
            seat.check()
        slope, level = np.polyfit(
            np.log(rates), np.log(np.clip(viscosity, 1e-3, None)), 1
        )
    return {"batch": batch, "slope": float(slope), "level": float(np.exp(level))}


def in_tolerance(curves):
    return [c["batch"] for c in curves if abs(c["slope"] + 0.3) > 0.05]


def main():
    folder = Path("seats").resolve()
    folder.mkdir(exist_ok=True)
    (folder / "recall").write_text("seat 2, recalled by plant B\n")
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=None
    )
    client = Client(cluster)
    try:
        batches = list(range(24))
        samples = client.map(measure, batches)
        curves = client.map(fit_curve, samples, batches, folder=str(folder))
        rejected = client.submit(in_tolerance, curves)
        print("rejected batches:", rejected.result(timeout=50) or "none")
        print(f"{len(client.gather(curves))} curves for the plant's book")
    finally:
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
