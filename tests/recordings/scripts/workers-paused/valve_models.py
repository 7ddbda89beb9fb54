"""Fits the wear curve of each valve type of a gas network.

Each type has a history of its readings.  Loading it takes long, therefore a
worker keeps the histories it has loaded (new in this version), so that the
three curves of one type don't load it three times.
"""

import logging
import sys
import time
from collections import Counter

import numpy as np
from dask.distributed import Client, LocalCluster, get_worker, wait

log = logging.getLogger("valves")

TYPES = [f"V{number:03d}" for number in range(36)]
CURVES = ["seat", "stem", "packing"]
READINGS = 40 * 1024 * 1024 // 8
DEADLINE = 25


def load_history(valve_type):
    """Readings of the type from the historian; takes a while."""
    worker = get_worker()
    if not hasattr(worker, "valve_histories"):
        worker.valve_histories = {}
    kept = worker.valve_histories
    if valve_type not in kept:
        rng = np.random.default_rng(int(valve_type[1:]))
        history = np.empty(READINGS)
        for begin in range(0, READINGS, 65_536):
            history[begin : begin + 65_536] = rng.standard_normal(
                min(65_536, READINGS - begin)
            )
        time.sleep(0.4)
        kept[valve_type] = history
    return kept[valve_type]


def fit_curve(valve_type, curve):
    history = load_history(valve_type)
    step = {"seat": 500, "stem": 700, "packing": 900}[curve]
    sample = history[::step]
    slope, offset = np.polyfit(np.arange(len(sample)), np.cumsum(sample), 1)
    return {
        "type": valve_type,
        "curve": curve,
        "slope": float(slope),
        "offset": float(offset),
    }


class FitRun:
    def __init__(self, client):
        self.client = client
        self.futures = []

    def start(self):
        jobs = [(valve_type, curve) for valve_type in TYPES for curve in CURVES]
        self.futures = self.client.map(fit_curve, *zip(*jobs), key="fit_curve")

    def finish(self, deadline):
        wait(self.futures, timeout=deadline)
        return self.client.gather(self.futures)

    def report(self):
        states = Counter(future.status for future in self.futures)
        log.info("curves: %s", dict(states))


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=None
    )
    client = Client(cluster)
    run = FitRun(client)
    try:
        run.start()
        curves = run.finish(DEADLINE)
        worst = max(curves, key=lambda curve: curve["slope"])
        log.info("steepest: %s", worst)
    except TimeoutError:
        run.report()
        log.error("curves were not ready within %s s, old ones stay in use", DEADLINE)
        return 2
    finally:
        client.close(timeout=5)
        cluster.close(timeout=5)
    return 0


if __name__ == "__main__":
    sys.exit(main())
