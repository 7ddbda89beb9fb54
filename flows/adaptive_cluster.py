"""A cluster of any class that grows with the work.

Put the class of your deployment in place of `distributed.LocalCluster`:
`dask_kubernetes.operator.KubeCluster`, `dask_cloudprovider.aws.FargateCluster`,
`dask_jobqueue.SLURMCluster`, `coiled.Cluster`.  It is closed with the flow run.
"""

from __future__ import annotations

import random

from prefect import task
from prefect_dask import DaskTaskRunner
from prefect_dask_blackbox import observed_flow


@task
def hits(samples: int, seed: int) -> int:
    """Count the random points that lie within the circle."""
    points = random.Random(seed)
    return sum(points.random() ** 2 + points.random() ** 2 < 1 for _ in range(samples))


@observed_flow(
    log_prints=True,
    task_runner=DaskTaskRunner(
        cluster_class="distributed.LocalCluster",
        cluster_kwargs={
            "n_workers": 0,
            "threads_per_worker": 1,
            "dashboard_address": ":0",
        },
        adapt_kwargs={"minimum": 1, "maximum": 2},
    ),
)
def adaptive_cluster(samples: int = 800_000, parts: int = 8) -> float:
    """Estimate pi from random points."""
    within = sum(hits.map([samples // parts] * parts, range(parts)).result())
    pi = round(4 * within / samples, 3)
    print(f"pi is about {pi}")
    return pi


if __name__ == "__main__":
    adaptive_cluster()
