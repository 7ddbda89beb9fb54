"""What the operator does for the callable, whatever becomes of the recording."""

from __future__ import annotations

from typing import Any

import pytest


def test_the_callables_dask_work_goes_to_the_tasks_own_cluster(airflow: Any) -> None:
    ran = airflow.run(
        """
        def where():
            import dask, os
            timeout = dask.config.get("distributed.deploy.lost-worker-timeout")
            return [timeout, os.getpid(), dask.delayed(os.getpid)().compute()]

        with DAG("own_cluster"):
            DaskObservedOperator(
                task_id="where", python_callable=where, cluster_kwargs=TINY
            )
        """,
        "own_cluster",
    )

    assert ran.state == "success"
    timeout, *processes = ran.value
    assert len(set(processes)) == 2
    # With Dask's 15 s, its cluster could close a worker for good that restarts slowly.
    assert timeout == "300s"


def test_a_callable_gets_the_client_the_context_and_its_rendered_arguments(
    airflow: Any,
) -> None:
    ran = airflow.run(
        """
        def ask(greeting, *, name, client, dag_run, params):
            workers = len(client.scheduler_info()["workers"])
            return [greeting, name, workers, dag_run.run_id, params["day"]]

        with DAG("arguments", params={"day": "Friday"}):
            DaskObservedOperator(
                task_id="ask",
                python_callable=ask,
                op_args=["Hello from {{ dag.dag_id }}"],
                op_kwargs={"name": "{{ params.day }}"},
                cluster_kwargs=TINY,
            )
        """,
        "arguments",
        conf={"day": "Saturday"},
    )

    assert ran.value == [
        "Hello from arguments",
        "Saturday",
        1,
        ran.run_id,
        "Saturday",
    ]


@pytest.mark.nightly
def test_a_cluster_can_be_named_made_or_found(airflow: Any) -> None:
    ran = airflow.run(
        """
        def made(n_workers=1):
            from distributed import LocalCluster
            return LocalCluster(
                n_workers=n_workers, processes=False, dashboard_address=":0"
            )

        def shape(client):
            return [type(client.cluster).__name__, len(client.nthreads())]

        def nested(client, ti):
            found = {}
            for name, cluster in {
                "made": made,
                "named": {
                    "class": "distributed.LocalCluster",
                    "kwargs": {"processes": False, "dashboard_address": ":0"},
                },
                "found": client.scheduler.address,
            }.items():
                operator = DaskObservedOperator(
                    task_id=name,
                    python_callable=shape,
                    cluster=cluster,
                    cluster_kwargs={} if name == "found" else {"n_workers": 2},
                )
                found[name] = operator.execute({"ti": ti})
            return found

        with DAG("clusters"):
            DaskObservedOperator(
                task_id="nested", python_callable=nested, cluster_kwargs=TINY
            )
        """,
        "clusters",
    )

    assert ran.value == {
        "made": ["LocalCluster", 2],
        "named": ["LocalCluster", 2],
        "found": ["NoneType", 1],
    }


def test_the_callables_exception_is_the_tasks_exception(airflow: Any) -> None:
    ran = airflow.run(
        """
        class OutOfStockError(Exception): ...

        def fails(day):
            raise OutOfStockError(f"nothing left on {day}")

        def work():
            import dask
            dask.delayed(fails)("Friday").compute()

        with DAG("failing"):
            Watched(task_id="work", python_callable=work, cluster_kwargs=TINY)
        """,
        "failing",
    )

    assert ran.state == "failed"
    assert ran.xcoms["caught"] == ["OutOfStockError", "nothing left on Friday"]
