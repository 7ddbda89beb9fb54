"""Dask outside of the task's process: what the macro passes, and what the tab finds."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from airflow_dask_blackbox.addresses import TaskKey
from airflow_dask_blackbox.tab.recordings import place_of, recordings_of


@pytest.mark.nightly
def test_each_instance_of_a_mapped_command_has_its_own_recording_in_the_tab(
    airflow: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AIRFLOW__DASK_BLACKBOX__STORE", str(tmp_path / "store"))
    blackbox = Path(sys.executable).with_name("dask")
    dag = airflow.load(
        f"""
        from airflow.providers.standard.operators.bash import BashOperator

        with DAG("mapped_commands"):
            BashOperator.partial(
                task_id="load",
                append_env=True,
                env={{"BLACKBOX_TASK": "{{{{ macros.dask_blackbox.env(ti) }}}}"}},
            ).expand(
                bash_command=[
                    f"{blackbox} blackbox run --quiet -- {sys.executable} -c 'print({{n}})'"
                    for n in (1, 2)
                ]
            )
        """,
        "mapped_commands",
    )

    dag_run = dag.test()

    found = []
    for index in (0, 1):
        key = TaskKey("mapped_commands", dag_run.run_id, "load", index)
        (recorded,) = recordings_of(place_of(key, {}), key)
        found.append(recorded.manifest)
        assert recorded.state == "succeeded"
        assert recorded.try_number == 1
    assert {each.job for each in found} == {"mapped_commands.load"}
    assert [each.run_id for each in found] == [
        f"{dag_run.run_id}.map0",
        f"{dag_run.run_id}.map1",
    ]
    assert all("/plugin/dask-run" in str(each.host["url"]) for each in found)


@pytest.mark.parametrize("native", [False, True])
def test_the_macro_passes_text_without_credentials(
    airflow: Any, monkeypatch: pytest.MonkeyPatch, *, native: bool
) -> None:
    monkeypatch.setenv("AIRFLOW__DASK_BLACKBOX__STORE", "s3://dask-runs/etl")
    monkeypatch.setenv("DASK_BLACKBOX__STORE__SECRET", "hunter2")
    ran = airflow.run(
        f"""
        from airflow.providers.standard.operators.bash import BashOperator

        with DAG("passed_on", render_template_as_native_obj={native}):
            BashOperator(
                task_id="work",
                append_env=True,
                bash_command="echo $PASSED",
                env={{"PASSED": "{{{{ macros.dask_blackbox.env(ti) }}}}"}},
            )
        """,
        "passed_on",
    )

    assert ran.state == "success"
    said = json.loads(ran.value) if isinstance(ran.value, str) else ran.value
    assert "hunter2" not in str(said)
    assert {name: said[name] for name in ("dag_id", "task_id", "run_id", "store")} == {
        "dag_id": "passed_on",
        "task_id": "work",
        "run_id": ran.run_id,
        "store": "s3://dask-runs/etl",
    }
    assert (said["map_index"], said["try_number"]) == ("-1", "1")
