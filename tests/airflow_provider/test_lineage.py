"""What Airflow's OpenLineage provider sends of a task, with that provider installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest

from tests.support.airflow_versions import needs_openlineage

ROOT = Path(__file__).parents[2]
# Beside the environment and not in it: its plugin would be loaded by every other test.
REQUIREMENTS = (
    "apache-airflow-providers-openlineage==2.20.3",
    "httpcore2==2.16.2",
    "httpx2==2.16.2",
    "openlineage-integration-common==1.54.0",
    "openlineage-python==1.54.0",
    "openlineage-sql==1.54.0",
    "truststore==0.10.5",
)
DAG_FILE = """
from airflow.sdk import DAG
from airflow_dask_blackbox.operators.dask import DaskObservedOperator

from airflow.sdk import Asset

def work(folder):
    import dask
    import dask.dataframe as dd

    orders = dd.read_csv(f"{folder}/orders/*.csv")
    orders.to_parquet(f"{folder}/parquet")
    dask.delayed(int)("no number").compute()

with DAG("lineage"):
    DaskObservedOperator(
        task_id="work", python_callable=work, op_args=[FOLDER],
        outlets=[Asset(f"file://{FOLDER}/declared")],
        cluster_kwargs={"n_workers": 1, "processes": False},
    )
"""
RUN = """
import sys
try:
    from airflow.dag_processing.dagbag import DagBag
except ImportError:
    from airflow.models.dagbag import DagBag
bag = DagBag(sys.argv[1])
assert bag.import_errors == {}
bag.dags["lineage"].test()
"""


@pytest.mark.nightly
@pytest.mark.usefixtures("_database")
@needs_openlineage
def test_the_events_of_a_task_have_the_verdict_as_a_facet(tmp_path: Path) -> None:
    uv = os.environ.get("UV", str(ROOT / "tools" / "uv"))
    beside = tmp_path / "packages"
    install = (uv, "pip", "install", "--quiet", "--no-deps", "--target", str(beside))
    subprocess.run([*install, "--python", sys.executable, *REQUIREMENTS], check=True)
    file = Path(os.environ["AIRFLOW__CORE__DAGS_FOLDER"]) / "lineage.py"
    events = tmp_path / "events.json"
    (tmp_path / "orders").mkdir()
    for number in range(12):
        (tmp_path / "orders" / f"{number}.csv").write_text("a,b\n1,2\n")
    file.write_text(f"FOLDER = {str(tmp_path)!r}\n{DAG_FILE}")
    transport = {"type": "file", "log_file_path": str(events), "append": True}

    subprocess.run(
        [sys.executable, "-c", RUN, str(file)],
        env=os.environ
        | {
            "PYTHONPATH": str(beside),
            "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps(transport),
        },
        check=True,
        capture_output=True,
    )

    sent = [json.loads(line) for line in events.read_text().splitlines()]
    (event,) = (
        each
        for each in sent
        if each["job"]["name"] == "lineage.work" and "daskRun" in each["run"]["facets"]
    )
    facet = event["run"]["facets"]["daskRun"]
    named = {
        way: [(each["namespace"], each["name"]) for each in event[way]]
        for way in ("inputs", "outputs")
    }
    assert named == {
        "inputs": [("file", f"{tmp_path}/orders")],
        "outputs": [("file", f"{tmp_path}/parquet"), ("file", f"{tmp_path}/declared")],
    }
    assert facet["state"] == "failed"
    assert facet["rule"] == "task-exception"
    assert "no number" in facet["cause"]
    assert "/tasks/work/plugin/dask-run" in facet["report"]
    assert facet["numbers"]["task_failures"] == 1
    schema = json.loads((ROOT / "docs/openlineage/DaskRunFacet.json").read_text())
    address, _, name = facet["_schemaURL"].partition("#/$defs/")
    assert address == schema["$id"]
    # Besides what OpenLineage's own schema asks of each facet.
    own = schema["$defs"][name]["allOf"][1]
    jsonschema.validate(facet, own)
    assert set(own["properties"]) == {n for n in facet if not n.startswith("_")}
