"""Nightly harvest estimate: one forecast per parcel, then a table for the packing house."""

import argparse
import logging
import threading
import time

import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster, as_completed

log = logging.getLogger("harvest")

SETTINGS = {
    "parcels": 26,
    "seed_lots": ["A", "B", "C"],
    # how long one stage may take, in minutes
    "stage_budget": 6,
}


def parcel_ids(count):
    return [f"P-{n:02d}" for n in range(1, count + 1)]


def load_weather(seed):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {"rain": rng.gamma(2.0, 3.0, 120), "warmth": rng.normal(16, 4, 120)}
    )


def estimate_parcel(parcel, weather, passes=9):
    """Bootstrap the yield of one parcel."""
    rng = np.random.default_rng(abs(hash(parcel)) % 2**32)
    draws = []
    for _ in range(passes):
        sample = weather.sample(
            frac=1.0, replace=True, random_state=rng.integers(2**31)
        )
        draws.append(float(sample.rain.mean() * 0.8 + sample.warmth.mean() * 0.1))
        time.sleep(0.1)
    return {
        "parcel": parcel,
        "tonnes": float(np.mean(draws)),
        "spread": float(np.std(draws)),
    }


class StageGuard(threading.Thread):
    """Release what is still pending when a stage has used up its budget."""

    def __init__(self, client, futures, budget):
        super().__init__(name="stage-guard", daemon=True)
        self.client = client
        self.futures = futures
        self.budget = budget
        self.started = time.monotonic()
        self.done = threading.Event()

    def run(self):
        while not self.done.wait(0.5):
            elapsed = time.monotonic() - self.started
            if elapsed > self.budget:
                open_ones = [f for f in self.futures if f.status == "pending"]
                log.info(
                    "stage guard: budget %s used up after %.1f, releasing %d",
                    self.budget,
                    elapsed,
                    len(open_ones),
                )
                self.client.cancel(
                    open_ones, reason="stage budget used up", msg="stage guard"
                )
                return


def collect(futures):
    rows = []
    for fut in as_completed(futures):
        if fut.status != "finished":
            log.debug("skipping %s (%s)", fut.key, fut.status)
            continue
        rows.append(fut.result())
    return pd.DataFrame(rows).set_index("parcel")


def packing_table(estimates, parcels):
    """Trucks for each parcel, in the order in which they are picked."""
    table = []
    for rank, parcel in enumerate(parcels, 1):
        row = estimates.loc[parcel]
        table.append(
            {"order": rank, "parcel": parcel, "trucks": int(np.ceil(row.tonnes / 2.5))}
        )
    return pd.DataFrame(table)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--parcels", type=int, default=SETTINGS["parcels"])
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MiB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        parcels = parcel_ids(args.parcels)
        weather = client.submit(load_weather, 11, key="weather")
        futures = [
            client.submit(estimate_parcel, p, weather, key=f"estimate_parcel-{p}")
            for p in parcels
        ]
        guard = StageGuard(client, futures, SETTINGS["stage_budget"])
        guard.start()
        log.info("stage estimate: %d parcels", len(futures))
        estimates = collect(futures)
        guard.done.set()
        log.info("estimated %.1f tonnes", estimates.tonnes.sum())
        table = packing_table(estimates, parcels)
        log.info("packing table:\n%s", table.head().to_string())


if __name__ == "__main__":
    main()
