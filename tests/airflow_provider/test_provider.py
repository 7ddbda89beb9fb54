"""What Airflow finds when it looks for providers, and what that costs it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from airflow_dask_blackbox.links import LINKS

_HEAVY = ("bokeh", "boto3", "dask", "distributed", "fastapi_cli", "pandas", "polars")


def test_airflow_finds_the_provider_its_links_and_its_settings(airflow: Any) -> None:
    from airflow.configuration import conf
    from airflow.providers_manager import ProvidersManager

    manager = ProvidersManager()  # type: ignore[no-untyped-call]
    found = manager.providers["airflow-provider-dask-blackbox"].data

    assert found["name"] == "Dask black box"
    assert set(found["extra-links"]) <= set(manager.extra_links_class_names)
    # Airflow 3.1 reads a provider's defaults only where its providers are initialised.
    assert conf.get("dask_blackbox", "store", fallback="") == ""
    assert set(found["config"]["dask_blackbox"]["options"]) >= {
        "store",
        "store_conn_id",
    }


def test_a_dag_file_pays_for_nothing_that_only_a_task_needs() -> None:
    code = (
        "import json, sys, airflow_dask_blackbox.operators.dask;"
        f"print(json.dumps([m for m in {_HEAVY!r} if m in sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert json.loads(done.stdout.splitlines()[-1]) == []


def test_the_buttons_survive_the_way_through_the_database(airflow: Any) -> None:
    try:
        from airflow.serialization.serialized_objects import DagSerialization
    except ImportError:  # Airflow 3.1
        from airflow.serialization.serialized_objects import (  # type: ignore[attr-defined,assignment]
            SerializedDAG as DagSerialization,
        )

    dag = airflow.load(
        """
        with DAG("buttons"):
            DaskObservedOperator(
                task_id="t",
                python_callable=print,
                cluster={"class": "distributed.LocalCluster", "kwargs": {"n_workers": 1}},
                cluster_kwargs=TINY,
                parameters={"day": "{{ ds }}"},
            )
        """,
        "buttons",
    )
    text = json.dumps(DagSerialization.to_dict(dag))
    task = DagSerialization.from_dict(json.loads(text)).get_task("t")

    assert {link.name: link.xcom_key for link in task.operator_extra_links} == {
        link.name: link.xcom_key for link in LINKS.values()
    }
