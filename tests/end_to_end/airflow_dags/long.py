"""A DAG whose task can be killed while it waits."""

from datetime import timedelta
from pathlib import Path

from airflow.sdk import DAG
from airflow_dask_blackbox.operators.dask import DaskObservedOperator


def version():
    import airflow

    return airflow.__version__


def wait_for_the_end(flag, ti, client):
    import os
    import time

    if ti.try_number > 1:
        # On a worker, which may import Airflow, but not this file.
        return client.submit(version).result()
    working = client.submit(time.sleep, 600)
    Path(flag).write_text(str(os.getpid()))
    return working.result()


with DAG(dag_id="long", schedule=None):
    DaskObservedOperator(
        task_id="wait",
        python_callable=wait_for_the_end,
        op_kwargs={"flag": "{{ dag_run.conf['flag'] }}"},
        cluster_kwargs={"n_workers": 1, "threads_per_worker": 1},
        retries=1,
        retry_delay=timedelta(0),
    )
