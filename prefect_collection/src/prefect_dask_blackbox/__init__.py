"""Dask runs of Prefect flows: recorded, explained, and shown on the flow run's page.

from prefect_dask_blackbox import observed_flow

@observed_flow(store="s3://bucket/dask", task_runner=DaskTaskRunner(...))
def etl() -> None: ...
"""

from __future__ import annotations

from prefect_dask_blackbox.errors import LostTasksError
from prefect_dask_blackbox.flows import observed_flow
from prefect_dask_blackbox.retries import dask_blackbox_says_retry
from prefect_dask_blackbox.task_runners import BlackboxTaskRunner

__all__ = [
    "BlackboxTaskRunner",
    "LostTasksError",
    "dask_blackbox_says_retry",
    "observed_flow",
]
