"""A time limit that is too short: the card says how far the work was, and what it needs.

Prefect says "Flow run exceeded timeout of 20.0 second(s)".  The card says how many tasks
were done, at which rate, and how long all of them would have taken.
"""

from __future__ import annotations

import time

from prefect import task
from prefect_dask import DaskTaskRunner
from prefect_dask_blackbox import observed_flow


@task
def simulate(year: int) -> float:
    """Stand for half a second of work."""
    time.sleep(0.5)
    return year / 2


@observed_flow(
    timeout_seconds=20,
    task_runner=DaskTaskRunner(
        cluster_kwargs={
            "n_workers": 1,
            "threads_per_worker": 2,
            "dashboard_address": ":0",
        }
    ),
)
def time_limit(years: int = 400) -> float:
    """Simulate more years than there is time for."""
    return sum(simulate.map(range(years)).result())


if __name__ == "__main__":
    time_limit()
