"""The examples in `dags/`, each run as a reader would run it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from http_receiver import receiver

pytestmark = pytest.mark.nightly

DAGS = Path(__file__).parents[2] / "dags"
IN_AIRFLOW = {"recorded_etl", "out_of_memory"}
"""Those that `tests/end_to_end/test_airflow_dags.py` runs in a real Airflow."""
HERE = {
    "adaptive_cluster",
    "existing_cluster",
    "larger_on_retry",
    "mapped_days",
    "measured_asset",
    "notify_the_team",
}


@pytest.fixture
def example(
    airflow: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[[str], Any]:
    """Return how to import an example, with its data in a folder of the test."""
    monkeypatch.setenv("DEMO_DATA", str(tmp_path))
    return lambda name: airflow.load_file(DAGS / f"{name}.py", name)


def test_each_example_is_run_by_a_test() -> None:
    assert {file.stem for file in DAGS.glob("*.py")} == IN_AIRFLOW | HERE


def test_a_cluster_of_any_class_grows_with_the_work(airflow: Any, example: Any) -> None:
    ran = airflow.run_dag(example("adaptive_cluster"))

    assert ran.state == "success"
    assert 3.1 < ran.value < 3.2


def test_work_on_a_cluster_that_is_there_leaves_it_as_it_was(
    airflow: Any, example: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", cluster.scheduler_address)
        ran = airflow.run_dag(example("existing_cluster"))
        still_there = client.submit(str.upper, "there").result()

    assert ran.value == [number**2 for number in range(10)]
    assert still_there == "THERE"


def test_the_first_try_has_the_memory_that_the_dag_gives(
    airflow: Any, example: Any
) -> None:
    ran = airflow.run_dag(example("larger_on_retry"))

    assert ran.state == "success"
    assert ran.value > 900
    assert "failed of too little memory" not in ran.log


def test_each_day_is_a_run_of_its_own(airflow: Any, example: Any) -> None:
    from airflow.sdk import DAG

    dag: DAG = example("mapped_days")
    states = [ti.state for ti in dag.test().get_task_instances()]

    assert states == ["success", "success"]
    store = Path(os.environ["DASK_BLACKBOX__STORE__URL"])
    runs = store.glob("runs/job=mapped_days.mean_temperature/run=*/attempt=1/run.json")
    hosts = [json.loads(run.read_text())["host"] for run in runs]
    assert {host["map_index"] for host in hosts} == {0, 1}


def test_an_asset_event_reports_what_was_written(
    airflow: Any, example: Any, tmp_path: Path
) -> None:
    from airflow.models.asset import AssetEvent
    from airflow.utils.session import create_session

    ran = airflow.run_dag(example("measured_asset"))

    assert ran.state == "success"
    with create_session() as session:
        (event,) = (
            each
            for each in session.query(AssetEvent)
            if each.source_dag_id == "measured_asset"
        )
    written = list((tmp_path / "readings").glob("*.parquet"))
    page = f"/dags/measured_asset/runs/{ran.page_of_run}/tasks/write_readings/plugin"
    assert page in event.extra.pop("dask_run")
    assert event.extra == {
        "rows": 7 * 24 * 6,
        "files": len(written),
        "bytes": sum(file.stat().st_size for file in written),
    }


def test_a_failure_is_reported_in_the_chat_with_its_cause(
    airflow: Any, example: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiver() as chat:
        monkeypatch.setenv("CHAT_WEBHOOK", f"{chat.url}/")

        ran = airflow.run_dag(example("notify_the_team"))

    assert ran.state == "failed"
    [post] = chat.posts
    posted = post.json()
    assert posted["text"].startswith(":x: *notify_the_team.turnover*: ")
    assert "unit_price" in posted["text"]
    assert "*What to do*:" in posted["text"]
    assert f"/dags/notify_the_team/runs/{ran.page_of_run}" in posted["text"]
