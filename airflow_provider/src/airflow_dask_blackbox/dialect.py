"""Airflow's terms for the remedies on the card."""

from __future__ import annotations

from dask_blackbox.dialect import RemedyDialect
from dask_blackbox.store.options import KEYS

__all__ = ["DIALECT"]

DIALECT = RemedyDialect(
    run="task",
    shipped="inside the task's function",
    settings={
        "blackbox.store": "`store_settings=`",
        **{f"blackbox.store.{key}": f"`{key}` of `store_settings=`" for key in KEYS},
        "blackbox.store.connect-timeout and .read-timeout": (
            "`connect-timeout` and `read-timeout` of `store_settings=`"
        ),
        "blackbox.store.url": "`store=` or `[dask_blackbox] store`",
        "blackbox.store.profile": "`store_conn_id=`",
        "blackbox.store.endpoint": "`endpoint_url` of the connection",
        "blackbox.store.region": "`region_name` of the connection",
        "blackbox.store.key and .secret": "login and password of the connection",
        "blackbox.store.token": "`aws_session_token` of the connection",
        "blackbox.store.credentials": "the connection of `store_conn_id=`",
    },
    paste="To paste into {dag_file}, task {task_id!r}: {lines}.",
    arguments={
        "cluster": "cluster_kwargs",
        "adapt": "adapt",
        "client": "client_kwargs",
        "config": "dask_config",
    },
    time_limits={
        name: f"{name}=timedelta(seconds={{seconds}})"
        for name in ("execution_timeout", "dagrun_timeout")
    },
    remedies={
        "airflow-db-not-allowed": (
            "In an Airflow task, worker processes must not import Airflow's own main module. "
            "Use `DaskObservedOperator` or `@task.dask_observed`, start the cluster with "
            "`DaskHook.get_cluster()`, pass `processes=False`, or set `record_every_client` "
            "in section `[dask_blackbox]`."
        ),
        "on a Dask worker: only the process of the Airflow task": (
            "Ask Airflow in the task's callable, and pass the value to the function that "
            "runs on the worker as an argument."
        ),
    },
)
