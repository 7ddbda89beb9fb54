"""Work on a cluster that is there already: of the flow's own work only, a recording.

DASK_SCHEDULER_ADDRESS names it (`tcp://scheduler:8786`).  Others may use it at the same
time: what they compute is not recorded, and the cluster is left as it was.
"""

from __future__ import annotations

import os

from prefect import task
from prefect_dask import DaskTaskRunner
from prefect_dask_blackbox import observed_flow

ADDRESS = os.environ.get("DASK_SCHEDULER_ADDRESS", "tcp://127.0.0.1:8786")


@task
def square(number: int) -> int:
    """Square a number over there."""
    return number**2


@observed_flow(task_runner=DaskTaskRunner(address=ADDRESS))
def existing_cluster(count: int = 10) -> list[int]:
    """Square some numbers."""
    return list(square.map(range(count)).result())


if __name__ == "__main__":
    existing_cluster()
