"""The recorder puts remedies in Airflow's terms."""

from __future__ import annotations

import ast
import inspect
import re
from copy import copy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dask
import msgspec
import pytest
from airflow.sdk import DAG
from airflow_dask_blackbox.arguments import accepted_by
from airflow_dask_blackbox.operators.dask import DaskObservedOperator
from dask_blackbox import analyse, store
from dask_blackbox.analyse import verdict_in
from dask_blackbox.dialect import PLAIN, dialect_of
from dask_blackbox.formatting import size
from distributed import Client, LocalCluster, Nanny, Worker
from distributed.deploy.adaptive import Adaptive
from kept_recordings import kept_run
from runs_from_rows import (
    MIB,
    a_death,
    a_run,
    a_worker,
    an_event,
    killed_worker,
    raised_in,
)
from source_texts import filled_texts


def test_worker_processes_that_import_airflow_have_airflows_remedy() -> None:
    said = dialect_of("airflow").remedy("sql_alchemy_conn: airflow-db-not-allowed:///")

    assert said is not None
    assert "`@task.dask_observed`" in said


@pytest.mark.parametrize(
    ("host", "line"),
    [
        (
            {"task_id": "bought_together", "dag_file": "out_of_memory.py"},
            (
                "To paste into out_of_memory.py, task 'bought_together': "
                '`cluster_kwargs={"memory_limit": "1.2 GiB"}`, or '
                '`cluster_kwargs={"threads_per_worker": 1}`.'
            ),
        ),
        ({"task_id": "of_a_command"}, ""),
        ({"task_id": "t", "dag_file": "d.py", "takes": "client_kwargs"}, ""),
    ],
)
def test_the_memory_that_workers_need_is_a_line_to_paste(
    host: dict[str, str], line: str
) -> None:
    lines = dialect_of("airflow").lines_for(
        "Give each worker more, or try `threads_per_worker=1`.",
        host,
        worker_memory=int(1.2 * 2**30),
    )

    assert lines == line


@pytest.mark.parametrize(
    ("arguments", "takes"),
    [
        ({}, None),
        ({"cluster": {"class": "distributed.LocalCluster"}}, None),
        ({"cluster": "tcp://farm:8786"}, "client_kwargs"),
        ({"dask_conn_id": "farm"}, "client_kwargs"),
        ({"cluster": {"class": "dask_gateway.GatewayCluster"}}, "client_kwargs,adapt"),
    ],
)
def test_a_task_says_which_of_its_arguments_its_cluster_heeds(
    arguments: dict[str, Any], takes: str | None
) -> None:
    with DAG("heeds", schedule=None) as dag:
        dag.fileloc = "/dags/nightly.py"
        task = DaskObservedOperator(task_id="t", python_callable=print, **arguments)

    facts = task._pasted_into({"ti": SimpleNamespace(task=task)})

    assert (facts["dag_file"], facts.get("takes")) == ("nightly.py", takes)


def test_a_remedy_is_taken_apart_where_the_lines_begin() -> None:
    dialect = dialect_of("airflow")
    host = {"task_id": "work", "dag_file": "d.py"}
    said = "Raise it (`Client(…, timeout=60)`)."
    lines = dialect.lines_for(said, host)

    assert dialect.without_lines(f"{said} {lines}") == (said, lines)
    assert dialect.without_lines(said) == (said, "")
    assert PLAIN.without_lines(said) == (said, "")


def test_a_cluster_of_others_takes_only_what_its_client_heeds() -> None:
    host = {"task_id": "t", "dag_file": "d.py", "takes": "client_kwargs"}
    said = (
        "Raise it (`Client(…, timeout=60)`), or set `distributed.scheduler.x: 1 min`."
    )

    lines = dialect_of("airflow").lines_for(said, host)

    assert lines == "To paste into d.py, task 't': `client_kwargs={\"timeout\": 60}`."


def test_the_remedy_on_the_card_ends_with_that_line() -> None:
    recorded = kept_run("one_compressed_file_does_not_fit")
    before = verdict_in(recorded)
    assert before is not None
    assert before.worker_memory is not None
    host = {"kind": "airflow", "task_id": "work", "dag_file": "nightly.py"}
    manifest = msgspec.structs.replace(recorded.manifest, host=host)
    in_airflow = copy(recorded)
    in_airflow.manifest = manifest

    after = verdict_in(in_airflow)

    assert after is not None
    assert after.remedy.startswith(
        f"{before.remedy} To paste into nightly.py, task 'work': "
        f'`cluster_kwargs={{"memory_limit": "{size(before.worker_memory)}"}}`'
    )


def test_where_to_define_a_function_is_in_airflows_words() -> None:
    recorded = kept_run("rules_are_loaded_from_a_path_of_the_configuration")
    in_airflow = copy(recorded)
    in_airflow.manifest = msgspec.structs.replace(
        recorded.manifest, host={"kind": "airflow"}
    )

    before, after = verdict_in(recorded), verdict_in(in_airflow)

    assert before is not None
    assert after is not None
    assert "define the function in the script itself" in before.remedy
    assert "define the function inside the task's function" in after.remedy


@pytest.mark.parametrize(
    ("host_memory", "pasted"), [(64 * 2**30, True), (600 * MIB, False)]
)
def test_memory_that_the_host_does_not_have_is_no_line_to_paste(
    host_memory: int, *, pasted: bool
) -> None:
    recorded = a_run(
        a_worker(memory_limit=400 * MIB),
        an_event(
            "process-load",
            "tcp://w1",
            at=8.5,
            seconds=8,
            cores=4,
            host_memory=host_memory,
        ),
        an_event("worker-restarted-for-memory", "tcp://w1", at=8.9, rss=390 * MIB),
        a_death(exit_code=-15, executing=["work-1"], asked="nanny-memory", at=9),
        raised_in("work-1", killed_worker("work-1")),
    )
    host = {"kind": "airflow", "task_id": "work", "dag_file": "nightly.py"}
    recorded.manifest = msgspec.structs.replace(recorded.manifest, host=host)

    found = verdict_in(recorded)

    assert found is not None
    assert found.worker_memory is not None
    assert ("that takes a larger one" in found.remedy) is not pasted
    assert ("To paste into nightly.py" in found.remedy) is pasted


def test_each_error_of_a_store_names_settings_as_airflow_has_them() -> None:
    texts = filled_texts(Path(store.__file__).parent, "4")
    said = {text for text in texts if " " in text and "blackbox.store" in text}

    dialect = dialect_of("airflow")
    inside = {dialect.with_own_settings(text) for text in said}

    assert len(said) > 20
    assert [text for text in inside if "blackbox.store" in text] == []
    assert any(
        "raise `connect-timeout` and `read-timeout` of `store_settings=`" in text
        for text in inside
    )
    bucket = "there is no bucket 'my-blackbox.store'; correct `blackbox.store.sse`"
    assert dialect.with_own_settings(bucket) == (
        "there is no bucket 'my-blackbox.store'; correct `sse` of `store_settings=`"
    )


def test_each_line_of_each_remedy_names_what_the_operator_and_dask_take() -> None:
    host = {"task_id": "work", "dag_file": "nightly.py"}
    lines = {
        line
        for text in filled_texts(Path(analyse.__file__).parent, "4")
        for line in CODE.findall(dialect_of("airflow").lines_for(text, host))
    }
    operators = set(inspect.signature(DaskObservedOperator).parameters)

    given = [keyword for line in lines for keyword in arguments(line)]

    assert len(lines) > 25
    assert {keyword.arg for keyword in given} == {
        *dialect_of("airflow").arguments.values()
    }
    assert {keyword.arg for keyword in given} <= operators
    for keyword in given:
        check = TAKEN[str(keyword.arg)]
        assert not [name for name in ast.literal_eval(keyword.value) if not check(name)]


def arguments(line: str) -> list[ast.keyword]:
    """Return the arguments of an operator in a line of code."""
    [call] = ast.parse(f"DaskObservedOperator({line})").body
    assert isinstance(call, ast.Expr)
    assert isinstance(call.value, ast.Call)
    return call.value.keywords


def is_setting(name: str) -> bool:
    """Return whether Dask has a key in its configuration, or a variable for its nannies."""
    parent, _, variable = name.rpartition(".")
    if parent == "distributed.nanny.pre-spawn-environ":
        return variable.isidentifier()
    return dask.config.get(name, default=dask) is not dask


TAKEN = {
    "cluster_kwargs": (accepted_by(LocalCluster, Nanny, Worker) or set()).__contains__,
    "adapt": (accepted_by(Adaptive) or set()).__contains__,
    "client_kwargs": (accepted_by(Client) or set()).__contains__,
    "dask_config": is_setting,
}
CODE = re.compile(r"`([^`]+)`")
