"""Clusters of every kind are recorded alike, with nothing of ours installed on them as well."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import bare_environments
import polars as pl
import pytest
from _pytest.mark import ParameterSet
from scenario_runs import Home, ScenarioRun, messages, run_scenario
from stored_events import details

pytestmark = pytest.mark.processes

CHECKOUT = str(Path(__file__).parents[2])
TASKS, LINES = 50, 500
NIGHTLY_KINDS = ("asynchronous", "threads", "tls", "bare", "adaptive")
KINDS = ("nanny", "uninstalled", *NIGHTLY_KINDS)
DEADLY = ("nanny", "bare", "uninstalled")
Runs = Callable[[str], ScenarioRun]


def kinds(*without: str) -> list[ParameterSet]:
    """Return the kinds as parameters, but some."""
    return [
        pytest.param(each, marks=[pytest.mark.nightly] * (each in NIGHTLY_KINDS))
        for each in KINDS
        if each not in without
    ]


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bare_environments.python_with("distributed", tmp_path_factory.mktemp("venv"))


@pytest.fixture(scope="module")
def finished_runs(homes: Callable[[], Home], bare_python: Path) -> Runs:
    """Return what runs a cluster of a kind, once."""

    @cache
    def finished(kind: str) -> ScenarioRun:
        home = homes()
        store = str(home.folder / "store")
        if kind == "uninstalled":
            return run_scenario(
                home, "cluster_kinds.py", store, "nanny", str(bare_python)
            )
        return run_scenario(home, "cluster_kinds.py", store, kind)

    return finished


@pytest.mark.parametrize("kind", kinds())
def test_all_tasks_are_recorded(finished_runs: Runs, kind: str) -> None:
    finished = finished_runs(kind)
    tasks = finished.run.tasks.filter(pl.col("prefix") == "work")

    assert finished.card.completeness == {
        "recorded": True,
        "kept": "store",
        "complete": True,
    }
    assert finished.card.state == "succeeded"
    assert tasks["key"].n_unique() == tasks.height == TASKS
    assert set(tasks["worker"]) <= set(finished.run.workers["address"])


@pytest.mark.parametrize("kind", kinds("asynchronous"))
def test_an_exception_is_recorded_with_its_traceback(
    finished_runs: Runs, kind: str
) -> None:
    finished = finished_runs(kind)
    [error] = finished.run.errors.filter(pl.col("prefix") == "fail").iter_rows(
        named=True
    )

    assert finished.reported["error"] == "LookupError('on purpose')"
    assert (error["exception"], error["message"]) == ("LookupError", "on purpose")
    assert "in fail" in error["traceback"]
    assert 'cluster_kinds.py", line' in error["traceback"]


@pytest.mark.parametrize("kind", kinds("threads"))
def test_printed_lines_are_recorded_with_the_task_that_printed_them(
    finished_runs: Runs, kind: str
) -> None:
    logs = finished_runs(kind).run.logs.filter(pl.col("logger") == "stdout")

    assert sorted(messages(logs, "printed by"), key=lambda m: int(m.split()[-1])) == [
        f"printed by {i}" for i in range(TASKS)
    ]
    assert logs["key"].n_unique() == TASKS


@pytest.mark.parametrize("kind", kinds("adaptive", "asynchronous", "threads", "tls"))
def test_a_worker_killed_at_work_loses_no_line(finished_runs: Runs, kind: str) -> None:
    finished = finished_runs(kind)
    [report] = [
        each
        for each in details(finished.run, "worker-exit-report")
        if finished.reported["killed"] in [task["key"] for task in each["executing"]]
    ]

    assert report["signal"] == "SIGKILL"
    assert report["exit_code"] == -9
    assert report["memory"]
    assert messages(finished.run.logs, "numbered ") == [
        f"numbered {i}" for i in range(LINES)
    ]
    assert finished.card.numbers["deaths"] == 1


@pytest.mark.parametrize("kind", kinds(*DEADLY))
def test_workers_that_leave_in_order_are_no_deaths(
    finished_runs: Runs, kind: str
) -> None:
    finished = finished_runs(kind)

    assert finished.card.numbers["deaths"] == 0
    assert "workers-died" not in [finding.rule for finding in finished.card.findings]


@pytest.mark.nightly
def test_workers_of_an_adaptive_cluster_come_and_go(
    finished_runs: Runs,
) -> None:
    workers = finished_runs("adaptive").run.workers

    assert workers.height >= 1
    assert workers["left"].null_count() == 0


def test_an_asynchronous_client_wants_async_with(
    finished_runs: Runs,
) -> None:
    reported = finished_runs("asynchronous").reported

    assert reported["wrong"].startswith("this client is asynchronous")
    assert reported["turns_while_finishing"] > 20, "the event loop stood still"


def test_a_cluster_without_our_package_reports_which_packages_it_has(
    finished_runs: Runs, bare_python: Path
) -> None:
    finished = finished_runs("uninstalled")
    [scheduler] = details(finished.run, "scheduler-info")

    assert scheduler["distributed"]
    assert details(finished.run, "capture-failed") == []
    assert not bare_environments.can_import(bare_python, "dask_blackbox")
    assert bare_environments.can_import(bare_python, "distributed")


@pytest.mark.parametrize("kind", kinds())
def test_no_log_line_of_dask_complains_about_the_recorder(
    finished_runs: Runs, kind: str
) -> None:
    # Tracebacks name files of this checkout, whatever its folder is called.
    message = pl.col("message").str.replace_all(CHECKOUT, "", literal=True)
    # A worker that fetched data from one that the cluster was ending at that moment.
    fetched = message.str.starts_with(
        "Worker stream died during communication"
    ) & ~message.str.contains("(?i)blackbox")
    ours = finished_runs(kind).run.logs.filter(
        (pl.col("level") >= 30)
        & message.str.contains("(?i)blackbox|handshake")
        & ~fetched
    )

    assert ours["message"].to_list() == []


@pytest.mark.parametrize("kind", kinds())
def test_nothing_is_left_behind(finished_runs: Runs, kind: str) -> None:
    finished = finished_runs(kind)
    finished.home.quiet()

    assert finished.home.left_over() == []
    assert Path(finished.card.links["recording"]).is_dir()
