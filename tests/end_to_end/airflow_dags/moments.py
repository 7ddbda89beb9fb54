"""Tasks that wait for what ends them: before the cluster is up, while it runs, while it closes."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.python import PythonOperator
from airflow.sdk import DAG, Param, get_current_context
from airflow_dask_blackbox.operators.dask import DaskObservedOperator

if TYPE_CHECKING:
    from distributed import Client, LocalCluster


def arrive(moment: str) -> None:
    """Wait, at the moment that the run is meant for, to be ended."""
    asked: Any = get_current_context()["params"]
    if asked["moment"] == moment:
        Path(asked["flag"]).write_text(str(os.getpid()))
        time.sleep(600)


def cluster() -> LocalCluster:
    """Return a cluster that may take long to start and to close."""
    from distributed import LocalCluster

    class Slow(LocalCluster):
        def close(self, timeout: Any = None) -> Any:
            arrive("closing")
            return super().close(timeout)

    arrive("starting")
    return Slow(n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0")


def work(client: Client) -> int:
    """Do ten tasks, and then wait."""
    total = sum(client.gather(client.map(abs, range(10))))
    arrive("running")
    return total


for name, limits in (
    ("moments", {}),
    ("moments_of_task", {"execution_timeout": timedelta(seconds=45)}),
):
    with DAG(
        name,
        schedule=None,
        params={"flag": Param(None, type=["null", "string"]), "moment": "running"},
    ):
        DaskObservedOperator(
            task_id="work", python_callable=work, cluster=cluster, **limits
        )

with DAG(
    "moments_of_run",
    schedule=None,
    params={"flag": Param(None, type=["null", "string"]), "moment": "running"},
    dagrun_timeout=timedelta(seconds=45),
):
    DaskObservedOperator(task_id="work", python_callable=work, cluster=cluster)


def processes() -> Any:
    """Return a cluster of processes that outlive the task's own."""
    from distributed.deploy.subprocess import SubprocessCluster

    return SubprocessCluster(
        n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    )


def lasting_processes() -> Any:
    """Return a cluster whose own setting is to outlive the client that started it."""
    cluster = processes()
    cluster.shutdown_on_close = False  # as classes for Kubernetes and Coiled have it
    return cluster


def work_and_wait(client: Client) -> None:
    """Do ten tasks, say where, and wait; the next try has nothing left to do."""
    client.gather(client.map(abs, range(10)))
    context: Any = get_current_context()
    if context["ti"].try_number > 1:
        return
    asked = context["params"]
    Path(asked["flag"]).write_text(f"{os.getpid()} {client.scheduler.address}")
    time.sleep(600)


for name, start, keep in (
    ("orphans", processes, False),
    ("kept_cluster", processes, True),
    ("lasting_cluster", lasting_processes, False),
):
    with DAG(
        name, schedule=None, params={"flag": Param(None, type=["null", "string"])}
    ):
        DaskObservedOperator(
            task_id="work",
            python_callable=work_and_wait,
            cluster=start,
            keep_cluster=keep,
        )


def record_plainly() -> None:
    """Record by itself, on a cluster in this very process, which is busy with it."""
    from dask_blackbox import recording
    from distributed import Client

    asked: Any = get_current_context()["params"]
    with (
        Client(processes=False, n_workers=1, dashboard_address=":0") as client,
        recording(client),
    ):
        client.gather(client.map(abs, range(25)))
        Path(asked["flag"]).write_text(str(os.getpid()))
        # Scheduler and client have a share of this process's time each.
        client.gather(client.map(time.sleep, [0.05] * 20_000, pure=False))


with DAG(
    "moments_plainly",
    schedule=None,
    params={"flag": Param(None, type=["null", "string"])},
):
    PythonOperator(task_id="work", python_callable=record_plainly)
