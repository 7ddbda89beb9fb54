"""The same run in Dask's own performance report and in a recording.

python beside_dasks_report.py STORE NATIVE.html
"""

from __future__ import annotations

import sys
import time
from itertools import pairwise

import numpy as np
from dask_blackbox import recording
from distributed import Client, LocalCluster, Scheduler, performance_report
from scenario_reports import report_card

TASKS, SECONDS = 12, 0.25
LEAD = 1.0
"""Seconds by which the delay may be wrong."""


def load(n: int) -> np.ndarray:
    until = time.perf_counter() + SECONDS
    total = np.zeros(200_000)
    while time.perf_counter() < until:
        total += n
    return total


def join(a: np.ndarray, b: np.ndarray) -> float:
    return float(a.sum() + b.sum())


def largest_delay(dask_scheduler: Scheduler) -> float:
    """Return how much the times of a worker are corrected at most, in seconds."""
    return max(abs(each.time_delay) for each in dask_scheduler.workers.values())


def main(store: str, native: str) -> None:
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as it,
        Client(it) as client,
    ):
        client.wait_for_workers(2)
        rec = recording(client, store=store, job="beside")
        with rec, performance_report(filename=native):
            # It leaves out tasks that ended before it began, by times that Dask corrects
            # with a delay that it measures; on a busy machine, that is wrong by as much.
            began = time.time()
            while time.time() - began < LEAD + client.run_on_scheduler(largest_delay):
                time.sleep(0.05)
            parts = client.map(load, range(TASKS), pure=False)
            workers = sorted(client.scheduler_info(-1)["workers"])
            joined = [
                # Each takes a result of the other worker: that is what moves.
                client.submit(join, a, b, workers=[workers[n % 2]], pure=False)
                for n, (a, b) in enumerate(pairwise(parts))
            ]
            client.gather(joined)
    report_card(rec)


if __name__ == "__main__":
    main(*sys.argv[1:])
