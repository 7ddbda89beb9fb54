"""A try that failed of memory is retried with twice as much; an error of the code is not retried.

A worker that dies at its memory limit dies there again, unless the next try has more of it.
A bug in the code fails again whatever it has, so that its retries are skipped.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG
from airflow_dask_blackbox.operators.dask import DaskObservedOperator


def largest_groups(rows: int) -> int:
    """Group random rows, all in memory at once."""
    import dask.array as da

    numbers = da.random.default_rng(1).integers(0, 1000, size=rows, chunks=rows // 4)
    return int(da.bincount(numbers, minlength=1000).max().compute())


with DAG(
    dag_id="larger_on_retry",
    description="More memory where that was the reason; no retry where it cannot help.",
    doc_md=__doc__,
    schedule=None,
    params={"rows": 1_000_000},
    tags=["dask", "dask-blackbox", "example"],
    render_template_as_native_obj=True,
):
    DaskObservedOperator(
        task_id="largest_groups",
        python_callable=largest_groups,
        op_kwargs={"rows": "{{ params.rows }}"},
        cluster_kwargs={
            "n_workers": 1,
            "threads_per_worker": 1,
            "memory_limit": "1 GiB",
        },
        retries=2,
        on_memory={"memory_limit": "x2", "most": "4 GiB"},
        retry_delay=timedelta(seconds=10),
        fail_without_retry={"code", "data", "environment"},
    )
