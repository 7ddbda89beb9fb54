"""A task on a cluster of others leaves it as it was, and changes nothing for others meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from distributed import Client
from shared_clusters import cluster_of_others, state_of, unchanged

_DAG = """
def work(address):
    from distributed import Client, get_client
    with Client(address) as other:
        plugins = other.run(lambda dask_worker: sorted(dask_worker.plugins))
    return [get_client().submit(abs, -1).result(), *plugins.values()]

def work_with_own_client(address):
    from distributed import Client
    with Client(address) as client:
        return client.submit(abs, -1).result()

def work_with_hook(address):
    from airflow_dask_blackbox.hooks.dask import DaskHook
    with DaskHook("others").get_client() as client:
        return client.submit(abs, -1).result()

with DAG("{dag_id}"):
    from airflow.providers.standard.operators.python import PythonOperator

    {task}
"""
_TASKS = {
    "operator": """DaskObservedOperator(
        task_id="work", python_callable=work, op_args=["{address}"], cluster="{address}"
    )""",
    "any client": """PythonOperator(
        task_id="work", python_callable=work_with_own_client, op_args=["{address}"]
    )""",
    "hook": """PythonOperator(
        task_id="work", python_callable=work_with_hook, op_args=["{address}"]
    )""",
}


@pytest.mark.parametrize(
    "way",
    [
        "operator",
        "any client",
        "hook",
    ],
)
@pytest.mark.timeout(600)
@pytest.mark.nightly
def test_the_cluster_is_as_before(
    way: str, airflow: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__DASK_BLACKBOX__RECORD_EVERY_CLIENT", "True")
    dag_id = f"others_{way.replace(' ', '_')}"
    with cluster_of_others(tmp_path) as address:
        monkeypatch.setenv(
            "AIRFLOW_CONN_OTHERS", f'{{"conn_type": "dask", "host": "{address}"}}'
        )
        before = state_of(address)
        task = _TASKS[way].format(address=address)

        ran = airflow.run(_DAG.format(dag_id=dag_id, task=task), dag_id)

        assert ran.state == "success"
        assert "airflow" not in str(ran.value)
        assert unchanged(address, before)
        with Client(address) as other:
            assert other.submit(abs, -1).result() == 1
