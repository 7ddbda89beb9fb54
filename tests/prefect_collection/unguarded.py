"""A script as many write it: its flow runs again in each worker that imports it."""

from __future__ import annotations

from prefect import task
from prefect_dask import DaskTaskRunner
from prefect_dask_blackbox import observed_flow


@task
def inc(number: int) -> int:
    return number + 1


@observed_flow(
    name="unguarded",
    task_runner=DaskTaskRunner(
        cluster_kwargs={"n_workers": 1, "dashboard_address": ":0"}
    ),
)
def unguarded() -> int:
    return inc.submit(1).result()


unguarded()
