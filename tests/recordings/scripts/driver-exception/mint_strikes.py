"""Strike runs of the mint: metal used per die, for two mints on one cluster.

Each mint's desk is a client of its own; both hand in their runs of the day
and the totals have to agree with the bullion room's book.
"""

import concurrent.futures
import datetime as dt
import threading
import time

import numpy as np
from dask.distributed import Client, LocalCluster

DAY = dt.date(2026, 11, 26)
MINTS = {
    "vienna": {"alloy": 0.986, "blanks": [1200, 950, 800, 1100, 700, 900]},
    "prague": {"alloy": 0.900, "blanks": [500, 640, 720, 380, 810, 560]},
}


class ReconciliationError(Exception):
    pass


def assay(name):
    """Fineness of the day's alloy."""
    time.sleep(0.3)
    return MINTS[name]["alloy"]


def strike_run(alloy, blanks, seed):
    """Weigh each blank of one run; returns grams of fine metal."""
    rng = np.random.default_rng(seed)
    grams = rng.normal(15.55, 0.004, blanks)
    time.sleep(0.8)
    return float((grams * alloy).sum())


def expected_grams(mint):
    return [15.55 * mint["alloy"] * n for n in mint["blanks"]]


class Desk:
    def __init__(self, name, address):
        self.name = name
        self.mint = MINTS[name]
        self.client = Client(address, set_as_default=False, name=f"desk-{name}")

    def hand_in(self, day):
        """Readable keys: the foremen look at them on the dashboard."""
        alloy = self.client.submit(assay, self.name, key=f"assay-{self.name}")
        return [
            self.client.submit(
                strike_run,
                alloy,
                blanks,
                1000 + number,
                key=f"strike-{day:%Y%m%d}-run{number}",
            )
            for number, blanks in enumerate(self.mint["blanks"])
        ]

    def close_day(self, day, gate):
        runs = self.hand_in(day)
        gate.wait(20)
        grams = self.client.gather(runs)
        return self.name, grams


def reconcile(name, grams, tolerance=0.002):
    for number, (found, wanted) in enumerate(zip(grams, expected_grams(MINTS[name]))):
        if abs(found - wanted) > tolerance * wanted:
            raise ReconciliationError(
                f"{name} run {number}: {found:,.0f} g struck, the book says {wanted:,.0f} g"
            )


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="300MB", dashboard_address=None
    ) as cluster:
        desks = [Desk(name, cluster.scheduler_address) for name in MINTS]
        gate = threading.Barrier(len(desks))
        try:
            with concurrent.futures.ThreadPoolExecutor(len(desks)) as pool:
                handed = [pool.submit(desk.close_day, DAY, gate) for desk in desks]
                results = dict(h.result() for h in handed)
        finally:
            for desk in desks:
                desk.client.close()
    for name, grams in results.items():
        print(f"{name:<8}{len(grams):>3} runs {sum(grams) / 1000:>9.2f} kg")
    for name, grams in results.items():
        reconcile(name, grams)
    print("books closed")


if __name__ == "__main__":
    main()
