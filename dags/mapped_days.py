"""One task per day, each with a recording of its own.

The instances of a mapped task are runs of one job: the tab *Dask runs* of the task compares
them, and each instance has its own tab *Dask run*.
"""

from __future__ import annotations

from datetime import date, timedelta

from airflow.sdk import DAG
from airflow_dask_blackbox.operators.dask import DaskObservedOperator


def mean_temperature(day: str) -> float:
    """Return the mean of a day's readings."""
    import dask

    next_day = date.fromisoformat(day) + timedelta(days=1)
    readings = dask.datasets.timeseries(day, str(next_day), freq="1min", seed=1)
    return round(float(readings["x"].mean().compute()), 6)


with DAG(
    dag_id="mapped_days",
    description="A mapped task: one Dask run for each day.",
    doc_md=__doc__,
    schedule=None,
    tags=["dask", "dask-blackbox", "example"],
):
    DaskObservedOperator.partial(
        task_id="mean_temperature",
        python_callable=mean_temperature,
        cluster_kwargs={"n_workers": 1, "threads_per_worker": 2},
        max_active_tis_per_dag=2,
    ).expand(op_kwargs=[{"day": "2026-11-01"}, {"day": "2026-11-02"}])
