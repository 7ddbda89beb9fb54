"""What Airflow finds when it looks for providers, and what that costs it."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path
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


def test_the_providers_metadata_is_valid_and_installed() -> None:
    import airflow
    import jsonschema  # type: ignore[import-untyped]
    from airflow_dask_blackbox import get_provider_info

    found = get_provider_info()
    schema = Path(airflow.__file__).with_name("provider_info.schema.json")
    jsonschema.validate(found, json.loads(schema.read_text()))

    modules = [
        name
        for kind in ("operators", "hooks")
        for each in found[kind]
        for name in each["python-modules"]
    ]
    names = [
        *found["notifications"],
        *found["extra-links"],
        *(each["hook-class-name"] for each in found["connection-types"]),
        *(each["class-name"] for each in found["task-decorators"]),
    ]
    assert all(importlib.import_module(name) for name in modules)
    for name in names:
        module, _, attribute = name.rpartition(".")
        assert callable(getattr(importlib.import_module(module), attribute))


def test_the_registry_finds_documentation_and_source() -> None:
    urls = dict(
        each.split(", ")
        for each in metadata.metadata("airflow-provider-dask-blackbox").get_all(
            "Project-URL"
        )
        or []
    )

    assert {"Documentation", "Source", "Issues", "Changelog"} <= set(urls)


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
