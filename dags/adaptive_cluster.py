"""A cluster of any class that grows with the work.

Put the class of your deployment in place of `distributed.LocalCluster`:
`dask_kubernetes.operator.KubeCluster`, `dask_cloudprovider.aws.FargateCluster`,
`dask_jobqueue.SLURMCluster`, `coiled.Cluster`.  It is closed with the task.
"""

from __future__ import annotations

from airflow.sdk import DAG
from airflow_dask_blackbox.operators.dask import DaskObservedOperator


def pi(samples: int) -> float:
    """Estimate pi from random points."""
    import dask.array as da

    points = da.random.default_rng(1).random((samples, 2), chunks=(samples // 8, 2))
    return round(float(4 * ((points**2).sum(axis=1) < 1).mean().compute()), 3)


with DAG(
    dag_id="adaptive_cluster",
    description="A cluster that scales with its work.",
    doc_md=__doc__,
    schedule=None,
    tags=["dask", "dask-blackbox", "example"],
):
    DaskObservedOperator(
        task_id="pi",
        python_callable=pi,
        op_kwargs={"samples": 800_000},
        cluster={
            "class": "distributed.LocalCluster",
            "kwargs": {"n_workers": 0, "threads_per_worker": 1},
        },
        adapt={"minimum": 1, "maximum": 2},
    )
