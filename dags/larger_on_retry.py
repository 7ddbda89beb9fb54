"""Each retry has twice the memory; an error of the code is not retried at all.

A worker that dies at its memory limit dies there again, unless the next try has more of it.
A bug in the code fails again whatever it has, so that its retries are skipped.
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

from airflow.sdk import DAG
from airflow_dask_blackbox.operators.dask import DaskObservedOperator


def larger_each_time() -> Any:
    """Return a cluster that has 1 GiB on the first try, 2 GiB on the second, …"""
    from distributed import LocalCluster

    size = 2 ** (int(os.environ["AIRFLOW_CTX_TRY_NUMBER"]) - 1)
    return LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        memory_limit=f"{size} GiB",
        dashboard_address="127.0.0.1:0",
    )


def largest_groups(rows: int) -> int:
    """Group random rows, all in memory at once."""
    import dask.array as da

    numbers = da.random.default_rng(1).integers(0, 1000, size=rows, chunks=rows // 4)
    return int(da.bincount(numbers, minlength=1000).max().compute())


with DAG(
    dag_id="larger_on_retry",
    description="More memory on each retry; no retry where it cannot help.",
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
        cluster=larger_each_time,
        retries=2,
        retry_delay=timedelta(seconds=10),
        fail_without_retry={"code", "data", "environment"},
    )
