"""What Airflow's OpenLineage provider sends of a task, with that provider installed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from conditions import until

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

def work(folder, ending, ti):
    import os, signal

    import dask
    import dask.dataframe as dd

    orders = dd.read_csv(f"{folder}/orders/*.csv")
    orders.to_parquet(f"{folder}/parquet")
    if ending == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if ending == "marked":
        from airflow.models import TaskInstance
        from airflow.utils.session import create_session

        with create_session() as session:
            session.query(TaskInstance).filter_by(dag_id=ti.dag_id).update(
                {"state": "failed"}
            )
        os.kill(os.getpid(), signal.SIGTERM)
        os._exit(1)  # as a supervisor's SIGKILL would
    dask.delayed(int)("no number").compute()

with DAG("lineage"):
    DaskObservedOperator(
        task_id="work", python_callable=work, op_args=[FOLDER, ENDING],
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


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with Airflow's OpenLineage provider."""
    uv = os.environ.get("UV", str(ROOT / "tools" / "uv"))
    folder = tmp_path_factory.mktemp("packages")
    install = (uv, "pip", "install", "--quiet", "--no-deps", "--target", str(folder))
    subprocess.run([*install, "--python", sys.executable, *REQUIREMENTS], check=True)
    return folder


def sent_of_a_task(tmp_path: Path, beside: Path, ending: str) -> tuple[int, Path]:
    """Run a task that ends in some way; return its process's code, and the file of events."""
    file = Path(os.environ["AIRFLOW__CORE__DAGS_FOLDER"]) / "lineage.py"
    events = tmp_path / "events.json"
    (tmp_path / "orders").mkdir()
    for number in range(12):
        (tmp_path / "orders" / f"{number}.csv").write_text("a,b\n1,2\n")
    file.write_text(f"FOLDER, ENDING = {str(tmp_path)!r}, {ending!r}\n{DAG_FILE}")
    transport = {"type": "file", "log_file_path": str(events), "append": True}
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(file)],
        env=os.environ
        | {
            "PYTHONPATH": str(beside),
            "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps(transport),
        },
        check=False,
        capture_output=True,
    )
    return done.returncode, events


def events_in(file: Path) -> list[dict[str, Any]]:
    """Return the events of the task in a file."""
    if not file.exists():
        return []
    sent = [json.loads(line) for line in file.read_text().splitlines()]
    return [each for each in sent if each["job"]["name"] == "lineage.work"]


def with_facet(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the events that have the facet of the Dask run."""
    return [each for each in events if "daskRun" in each["run"]["facets"]]


@pytest.mark.nightly
@pytest.mark.usefixtures("_database")
@needs_openlineage
def test_the_events_of_a_task_have_the_verdict_as_a_facet(
    tmp_path: Path, beside: Path
) -> None:
    code, file = sent_of_a_task(tmp_path, beside, "raises")

    assert code == 0
    [event] = with_facet(events_in(file))
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


@pytest.mark.nightly
@pytest.mark.usefixtures("_database")
@needs_openlineage
@pytest.mark.parametrize(
    ("ending", "kind", "rule"),
    [("killed", "ABORT", "driver-killed"), ("marked", "OTHER", "stopped-by-host")],
)
def test_the_run_of_a_task_that_was_ended_from_outside_has_them_from_the_recorder(
    ending: str, kind: str, rule: str, tmp_path: Path, beside: Path
) -> None:
    code, file = sent_of_a_task(tmp_path, beside, ending)

    until(lambda: with_facet(events_in(file)), "the recorder has sent an event")
    assert code == (-signal.SIGKILL if ending == "killed" else 1)
    [event] = with_facet(events_in(file))
    begins = events_in(file)[0]
    assert begins["eventType"] == "START"
    assert begins["run"]["runId"] == event["run"]["runId"]
    assert begins["job"]["namespace"] == event["job"]["namespace"]
    assert event["eventType"] == kind
    facet = event["run"]["facets"]["daskRun"]
    assert (facet["state"], facet["rule"]) == ("aborted", rule)
    assert "/tasks/work/plugin/dask-run" in facet["report"]
    assert [each["name"] for each in event["inputs"]] == [f"{tmp_path}/orders"]
    assert [each["name"] for each in event["outputs"]] == [f"{tmp_path}/parquet"]
