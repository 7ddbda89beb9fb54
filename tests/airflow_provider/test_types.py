"""Types of what a DAG file gives: mypy reads this file by its strict rules in `make lint`.

A line that must not type-check has a `type: ignore` with the code of the error.  Mypy reports
those that are not needed, so that each line is checked twice: by mypy, and while a DAG is parsed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG, XComArg, task
from airflow_dask_blackbox.arguments import OperatorConfigurationError
from airflow_dask_blackbox.cluster_group import dask_cluster
from airflow_dask_blackbox.clusters import ClusterSpec, GivenArguments, GivenCluster
from airflow_dask_blackbox.decorators import dask_observed
from airflow_dask_blackbox.operators.dask import DaskObservedOperator


def make_cluster(n_workers: int = 2) -> object:
    """Stand for a function of a DAG file that starts a cluster."""
    return n_workers


def count(client: Any = None) -> int:
    """Stand for the work of a task."""
    return len(client.nthreads())


def test_another_tasks_result_may_be_given() -> None:
    with DAG("typed_results", schedule=None):

        @task
        def choose(region: str) -> dict[str, int]:
            return {"n_workers": len(region)}

        chosen: XComArg = choose("eu")
        DaskObservedOperator(
            task_id="operator",
            python_callable=count,
            cluster=chosen,
            cluster_kwargs=chosen,
            client_kwargs=chosen,
            adapt=chosen,
            dask_config=chosen,
            store=chosen,
            store_conn_id=chosen,
            job=chosen,
            parameters=chosen,
        )
        by_decorator = dask_observed(
            cluster=chosen, cluster_kwargs=chosen, adapt=chosen, store=chosen
        )
        result: XComArg = by_decorator(count)()
        with dask_cluster(cluster=chosen, cluster_kwargs=chosen) as cluster:
            last = DaskObservedOperator(
                task_id="in_group", python_callable=count, cluster=cluster
            )

    assert last.upstream_task_ids == {"dask_cluster.start_cluster"}
    [(operator, _)] = result.iter_references()
    assert operator.upstream_task_ids == {"choose"}


def test_templates_and_values_may_be_given(tmp_path: Path) -> None:
    clusters: list[GivenCluster] = [
        None,
        "{{ var.value.scheduler }}",
        "tcp://scheduler:8786",
        {
            "class": "distributed.LocalCluster",
            "kwargs": {"n_workers": "{{ params.n }}"},
        },
        make_cluster,
    ]
    arguments: list[GivenArguments] = [
        None,
        "{{ params.size }}",
        {"n_workers": "{{ params.n }}"},
    ]
    with DAG("typed_templates", schedule=None):
        for number, cluster in enumerate(clusters):
            DaskObservedOperator(
                task_id=f"cluster_{number}",
                python_callable=count,
                cluster=cluster,
                store=tmp_path,
            )
        for number, given in enumerate(arguments):
            DaskObservedOperator(
                task_id=f"arguments_{number}",
                python_callable=count,
                cluster_kwargs=given,
                adapt=given,
                store="s3://runs/{{ params.team }}",
            )
        dask_observed(cluster=make_cluster, cluster_kwargs="{{ params.size }}")(count)()


def test_what_a_cluster_cannot_be_is_refused_by_types_too() -> None:
    wrong: ClusterSpec = 8786  # type: ignore[assignment]
    with pytest.raises(OperatorConfigurationError, match="cluster= is int"):
        DaskObservedOperator(task_id="t", python_callable=count, cluster=wrong)
    with pytest.raises(OperatorConfigurationError, match="cluster= is int"):
        DaskObservedOperator(
            task_id="t",
            python_callable=count,
            cluster=8786,  # type: ignore[arg-type]
        )
    with pytest.raises(OperatorConfigurationError, match="cluster= is int"):
        dask_observed(cluster=8786)(count)()  # type: ignore[arg-type]


def test_arguments_that_are_no_dict_are_refused_by_types_too() -> None:
    with pytest.raises(OperatorConfigurationError, match="cluster_kwargs= is list"):
        DaskObservedOperator(
            task_id="t",
            python_callable=count,
            cluster_kwargs=["n_workers"],  # type: ignore[arg-type]
        )
    with pytest.raises(OperatorConfigurationError, match="adapt= is tuple"):
        DaskObservedOperator(
            task_id="t",
            python_callable=count,
            adapt=(1, 8),  # type: ignore[arg-type]
        )
    with pytest.raises(OperatorConfigurationError, match="job= is int"):
        DaskObservedOperator(
            task_id="t",
            python_callable=count,
            job=3,  # type: ignore[arg-type]
        )
    with pytest.raises(OperatorConfigurationError, match="store_settings= is str"):
        DaskObservedOperator(
            task_id="t",
            python_callable=count,
            store_settings="{{ params.store }}",  # type: ignore[arg-type]
        )
    with pytest.raises(OperatorConfigurationError, match="adapt= is int"):
        dask_observed(adapt=8)(count)()  # type: ignore[arg-type]
