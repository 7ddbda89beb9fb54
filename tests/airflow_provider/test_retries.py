"""What a verdict is sure of decides on another try, and nothing else does."""

from __future__ import annotations

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow_dask_blackbox.arguments import OperatorConfigurationError
from airflow_dask_blackbox.operators.dask import DaskObservedOperator
from airflow_dask_blackbox.retries import why_not_at_all
from airflow_dask_blackbox.stores import TaskStore
from dask_blackbox.layout import RunAddress
from dask_blackbox.store import open_store
from retry_cards import a_card

_DAGS = """
def refuse(day):
    raise TypeError(f"no deliveries on {day}")

def compute(function):
    import dask
    return dask.delayed(function)("Friday").compute()

def wrong():
    compute(refuse)

"""


def _tries(store: Path, task: str, dag: str = "retried") -> list[int]:
    found = store.glob(f"runs/job={dag}.{task}/run=*/attempt=*")
    return sorted(int(each.name.removeprefix("attempt=")) for each in found)


def _states(dag_run: Any) -> dict[str, str]:
    return {ti.task_id: str(ti.state) for ti in dag_run.get_task_instances()}


def test_an_operator_fails_at_once_on_the_advice_that_it_names(
    airflow: Any, tmp_path: Path
) -> None:
    dag = airflow.load(
        f"""{_DAGS}
with DAG("named_advice"):
    DaskObservedOperator(
        task_id="wrong", python_callable=wrong, cluster_kwargs=TINY,
        store={str(tmp_path)!r}, retries=2, retry_delay=timedelta(0),
        fail_without_retry=["code", "environment"])
""",
        "named_advice",
    )

    assert _states(dag.test()) == {"wrong": "failed"}
    assert _tries(tmp_path, "wrong", "named_advice") == [1]


def test_unknown_retry_advice_is_refused_while_the_dag_is_parsed() -> None:
    with pytest.raises(OperatorConfigurationError, match="'coed' is not a supported"):
        DaskObservedOperator(
            task_id="x", python_callable=print, fail_without_retry=("coed",)
        )


# After a process that was killed, which nobody asked


def _context(try_number: int, *, max_tries: int, retries: int = 2) -> dict[str, Any]:
    ti = SimpleNamespace(
        dag_id="d", task_id="t", run_id="r", map_index=-1,
        try_number=try_number, max_tries=max_tries, task=SimpleNamespace(retries=retries),
    )  # fmt: skip
    return {"ti": ti}


@pytest.fixture
def killed_try(tmp_path: Path) -> str:
    """A store in which the first try's recorder has reported that the code is wrong."""
    card = a_card("aborted", confidence="high", advice="code")
    folder = RunAddress.of("d.t", "r", 1).folder
    open_store(tmp_path).put(f"{folder}card.json", card.to_json())
    return str(tmp_path)


def test_a_try_after_one_that_was_killed_reads_its_verdict(killed_try: str) -> None:
    log = logging.getLogger("test")
    context = _context(2, max_tries=2)

    why = why_not_at_all(context, ("code",), log, store=TaskStore(killed_try))
    assert why == "code: ValueError in 'refuse'"
    assert why_not_at_all(context, ("data",), log, store=TaskStore(killed_try)) is None
    assert why_not_at_all(context, (), log, store=TaskStore(killed_try)) is None


def test_who_clears_a_task_begins_anew(killed_try: str) -> None:
    # Airflow grants a cleared task all its retries again, from its next try on.
    log = logging.getLogger("test")

    cleared = _context(2, max_tries=3)
    assert why_not_at_all(cleared, ("code",), log, store=TaskStore(killed_try)) is None
    first = _context(1, max_tries=2)
    assert why_not_at_all(first, ("code",), log, store=TaskStore(killed_try)) is None


def test_without_a_card_the_next_try_runs(tmp_path: Path) -> None:
    log = logging.getLogger("test")
    context = _context(2, max_tries=2)

    assert (
        why_not_at_all(context, ("code",), log, store=TaskStore(str(tmp_path))) is None
    )
