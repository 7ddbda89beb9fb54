"""Gravimeter drifts: correct a survey's readings for the drift of each instrument.

Every instrument is evaluated on the worker of the observatory that owns it; the
network adjustment at the end runs in the head office and combines all loops.
"""

import os
import tempfile
from pathlib import Path

import numpy as np
from distributed import Client, Nanny, Scheduler, SpecCluster

OBSERVATORIES = ("moxa", "onsala")
OFFICE = "office"


class Loop:
    """Readings of one loop, with the drift of its instrument. Drift tables are
    large, so a loop travels without: it reads the table again where it goes."""

    def __init__(self, instrument, readings, table):
        self.instrument = instrument
        self.readings = readings
        self.table = table
        self.drift = np.load(table)

    def __getstate__(self):
        state = self.__dict__.copy()
        del state["drift"]
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)
        self.drift = np.load(self.table)

    def corrected(self):
        return self.readings - self.drift


def measure_loop(instrument, stations):
    rng = np.random.default_rng(instrument)
    with tempfile.TemporaryDirectory(prefix="gravimeter-") as folder:
        table = os.path.join(folder, f"drift_{instrument}.npy")
        np.save(table, np.cumsum(rng.normal(0, 0.002, stations)))
        readings = 978_000 + rng.normal(0, 15, stations)
        return Loop(instrument, readings, table)


def loop_quality(loop):
    return float(np.std(loop.corrected()))


def adjust_network(loops):
    corrected = np.stack([loop.corrected() for loop in loops])
    return corrected.mean(axis=0)


def observatory_cluster(scratch):
    def place(name):
        return {
            "cls": Nanny,
            "options": {
                "name": name,
                "nthreads": 1,
                "memory_limit": "350MB",
                "host": "127.0.0.1",
                "local_directory": str(scratch / name),
                "dashboard_address": None,
            },
        }

    for name in (*OBSERVATORIES, OFFICE):
        (scratch / name).mkdir()
    return SpecCluster(
        scheduler={
            "cls": Scheduler,
            "options": {"host": "127.0.0.1", "port": 0, "dashboard_address": None},
        },
        workers={name: place(name) for name in (*OBSERVATORIES, OFFICE)},
    )


def main(instruments=6, stations=400, patience=25):
    with tempfile.TemporaryDirectory() as folder:
        with observatory_cluster(Path(folder)) as cluster, Client(cluster) as client:
            client.wait_for_workers(3, timeout=20)
            loops = [
                client.submit(measure_loop, n, stations, workers=[OBSERVATORIES[n % 2]])
                for n in range(instruments)
            ]
            quality = [
                client.submit(loop_quality, loop, workers=[OBSERVATORIES[n % 2]])
                for n, loop in enumerate(loops)
            ]
            print("quality:", [round(q, 3) for q in client.gather(quality)], flush=True)

            network = client.submit(adjust_network, loops, workers=[OFFICE])
            gravity = network.result(timeout=patience)
            print(f"mean gravity {gravity.mean():.3f} mGal at {gravity.size} stations")


if __name__ == "__main__":
    main()
