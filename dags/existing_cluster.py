"""Work on a cluster that is there already: of the task's own work only, a recording.

DASK_SCHEDULER_ADDRESS names it (`tcp://scheduler:8786`).  Others may use it at the same
time: what they compute is not recorded, and the cluster is left as it was.
"""

from __future__ import annotations

import os
from typing import Any

from airflow.sdk import DAG
from airflow_dask_blackbox.operators.dask import DaskObservedOperator


def squares(count: int, *, client: Any) -> list[int]:
    """Square some numbers over there; the client is the one of this cluster."""
    futures = client.map(lambda number: number**2, range(count))
    return list(client.gather(futures))


with DAG(
    dag_id="existing_cluster",
    description="A task on a cluster that runs already.",
    doc_md=__doc__,
    schedule=None,
    tags=["dask", "dask-blackbox", "example"],
):
    DaskObservedOperator(
        task_id="squares",
        python_callable=squares,
        op_kwargs={"count": 10},
        cluster=os.environ.get("DASK_SCHEDULER_ADDRESS", "tcp://127.0.0.1:8786"),
    )
