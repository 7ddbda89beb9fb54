"""Fit settlement curves to the pier surveys of the bridge inspection; stop the day as soon as one fit is off."""

import threading
import time

import numpy as np
from dask.distributed import Client, LocalCluster


class FailFast:
    """Do not burn cluster hours on a day that has to be repeated anyway."""

    def __init__(self, client):
        self.client = client
        self.futures = []
        self.lock = threading.Lock()
        self.stopped = False

    def watch(self, future):
        self.futures.append(future)
        future.add_done_callback(self.on_done)
        return future

    def on_done(self, future):
        if future.status != "error":
            return
        with self.lock:
            if self.stopped:
                return
            self.stopped = True
        print("fail fast: stopping the rest of the day", flush=True)
        self.client.cancel([f for f in self.futures if f is not future])


def survey(pier):
    rng = np.random.default_rng(pier)
    days = np.arange(0, 400, 4.0)
    sag = 3.1 * np.log1p(days / 20) + rng.normal(0, 0.05, days.size)
    if pier == 14:
        days = np.full(days.size, 12.0)  # the logger's clock stood still
    return days, sag


def fit_settlement(pier, epochs):
    days, sag = survey(pier)
    basis = np.stack([np.log1p(days / 20), days], axis=1)
    normal = basis.T @ basis
    if pier == 14:
        time.sleep(1.5)
        normal = np.round(normal, 1)
        normal[1] = normal[0] * 2
    weights = np.linalg.solve(normal, basis.T @ sag)
    for _ in range(epochs):
        time.sleep(0.5)
        weights = 0.99 * weights + 0.01 * np.linalg.solve(normal, basis.T @ sag)
    return pier, weights


def main():
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        guard = FailFast(client)
        fits = {}
        for pier in (11, 14, 12, 13, 15, 16):
            fits[pier] = guard.watch(
                client.submit(
                    fit_settlement,
                    pier,
                    epochs=14,
                    key=f"fit-pier-{pier}",
                    priority=-pier if pier != 14 else 0,
                )
            )
        for pier in sorted(fits):
            number, weights = fits[pier].result(timeout=50)
            print(f"pier {number}: {weights.round(3)}")


if __name__ == "__main__":
    main()
