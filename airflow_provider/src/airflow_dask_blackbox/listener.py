"""The listener that Airflow calls in a task's process before the task starts."""

from __future__ import annotations

from airflow.listeners import hookimpl
from dask_blackbox.guard import guard

__all__ = ["on_task_instance_running"]


@hookimpl
def on_task_instance_running(task_instance: object) -> None:
    """Have the Dask clients of a task recorded, should it make any."""
    from airflow_dask_blackbox.plain_tasks import watch

    with guard("recording the Dask clients of this task"):
        watch(task_instance)
