"""One cluster for the flows of a session that need *a* cluster, and end no worker of it.

A flow run with a cluster of its own takes about six CPU seconds, four of which its worker
takes to import Prefect for the first task.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from distributed import LocalCluster
from prefect_dask.task_runners import DaskTaskRunner

__all__ = ["close_shared_cluster", "own_runner", "shared_cluster", "shared_runner"]


def shared_runner(**settings: Any) -> Any:
    """Return a task runner of plain Prefect on the shared cluster."""
    return DaskTaskRunner(address=shared_cluster(), **settings)


def own_runner() -> Any:
    """Return a task runner of plain Prefect with a cluster that ends with its flow."""
    return DaskTaskRunner(
        cluster_kwargs={
            "n_workers": 1,
            "threads_per_worker": 1,
            "dashboard_address": None,
        }
    )


def shared_cluster() -> str:
    """Return the cluster's address; it has one worker with one thread."""
    return str(_cluster().scheduler_address)


def close_shared_cluster() -> None:
    """Close the cluster, if anybody has used it."""
    if _cluster.cache_info().currsize:
        _cluster().close()
        _cluster.cache_clear()


@cache
def _cluster() -> Any:
    start: Any = LocalCluster  # typed in one environment only
    return start(n_workers=1, threads_per_worker=1, dashboard_address=":0")
