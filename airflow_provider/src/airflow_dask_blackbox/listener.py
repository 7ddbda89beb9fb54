"""The listener that Airflow calls in a task's process before the task starts."""

from __future__ import annotations

from airflow.listeners import hookimpl

from airflow_dask_blackbox.unavailable import value_or

__all__ = ["on_task_instance_running"]


@hookimpl
def on_task_instance_running(task_instance: object) -> None:
    """Have the Dask clients of a task recorded, should it make any."""
    doing = "recording the Dask clients of this task"
    value_or(lambda _: None, doing, lambda: _watch(task_instance, doing))


def _watch(task_instance: object, doing: str) -> None:
    from dask_blackbox.guard import guard

    from airflow_dask_blackbox.plain_tasks import watch

    with guard(doing):
        watch(task_instance)
