"""Every execution of a task, however it ended, with every exception."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from dask_blackbox import Run, recording
from distributed import Client, LocalCluster, Worker
from scenario_runs import Home, ScenarioRun, messages, run_scenario
from stored_events import details

pytestmark = pytest.mark.processes

TASKS = 3_000


@pytest.fixture(scope="module")
def finished(homes: Callable[[], Home]) -> ScenarioRun:
    home = homes()
    tries = home.folder / "tries"
    tries.mkdir()
    store = str(home.folder / "store")
    return run_scenario(home, "executions.py", store, str(TASKS), str(tries))


@pytest.fixture(scope="module")
def run(finished: ScenarioRun) -> Run:
    return finished.run


def test_all_of_thousands_of_tasks_are_recorded_once(run: Run) -> None:
    tasks = run.tasks.filter(pl.col("prefix") == "nothing")

    assert tasks.height == TASKS
    assert tasks["key"].n_unique() == TASKS
    assert tasks["outcome"].unique().to_list() == ["finished"]
    assert tasks["worker"].n_unique() == 2
    assert tasks["typename"].unique().to_list() == ["int"]
    assert (tasks["start"] <= tasks["stop"]).all()
    assert tasks["compute"].min() >= 0  # type: ignore[operator]


def test_the_recording_is_complete_and_reports_it(finished: ScenarioRun) -> None:
    assert finished.card.completeness == {
        "recorded": True,
        "kept": "store",
        "complete": True,
    }


def test_keys_that_are_tuples_keep_their_prefix(run: Run) -> None:
    known = run.tasks.select("key", "prefix", "group")

    assert known.filter(pl.col("key") == "('tuple', 3, 'x')").rows() == [
        ("('tuple', 3, 'x')", "tuple", "tuple")
    ]
    assert known.filter(pl.col("prefix") == "g").height == 1


def test_each_attempt_has_its_own_exception_and_worker(
    finished: ScenarioRun, run: Run
) -> None:
    errors = run.errors.filter(pl.col("key") == finished.reported["flaky"])

    assert errors["outcome"].to_list() == ["retried", "retried"]
    assert sorted(errors["message"]) == ["try 0 failed", "try 1 failed"]
    assert set(errors["exception"]) == {"ConnectionError"}
    assert all("in flaky" in text for text in errors["traceback"])
    assert set(errors["worker"]) <= set(run.workers["address"])


def test_each_attempt_is_an_execution(finished: ScenarioRun, run: Run) -> None:
    tasks = run.tasks.filter(pl.col("key") == finished.reported["flaky"])

    assert sorted(tasks["outcome"]) == ["finished", "retried", "retried"]


def test_a_traceback_holds_the_chained_cause(run: Run) -> None:
    [error] = run.errors.filter(pl.col("key") == "chained-root").iter_rows(named=True)

    assert (error["exception"], error["message"]) == ("RuntimeError", "the consequence")
    assert "KeyError: 'the root of it'" in error["traceback"]
    assert "direct cause" in error["traceback"]
    assert error["outcome"] == "erred"


def test_heirs_of_a_failure_are_no_executions(run: Run) -> None:
    assert run.tasks.filter(pl.col("key") == "heir").is_empty()


def test_an_exception_that_cannot_be_pickled_is_recorded(
    finished: ScenarioRun, run: Run
) -> None:
    key, kind, text = finished.reported["unpicklable"]
    [error] = run.errors.filter(pl.col("key") == key).iter_rows(named=True)

    assert (kind, error["exception"]) == ("Exception", "Exception")
    assert error["message"] == text == "UnpicklableError('holds a lock')"
    assert "in unpicklable" in error["traceback"]


def test_a_huge_message_is_cut(finished: ScenarioRun, run: Run) -> None:
    key, kind, _ = finished.reported["verbose"]
    [error] = run.errors.filter(pl.col("key") == key).iter_rows(named=True)

    assert error["exception"] == kind == "ValueError"
    assert 1_000 < len(error["message"]) < 30_000
    assert len(error["traceback"]) < 30_000


def test_text_that_no_encoding_can_hold_costs_neither_worker_nor_line(
    finished: ScenarioRun, run: Run
) -> None:
    key, kind, _ = finished.reported["surrogate"]
    [error] = run.errors.filter(pl.col("key") == key).iter_rows(named=True)

    assert kind == "ValueError"
    assert error["message"] == "bytes \\udcff that are no text"
    assert messages(run.logs, "surrogate \\udcff") == ["surrogate \\udcff \x00"]
    assert finished.card.numbers["deaths"] == 0


def test_a_run_id_of_any_characters_is_kept(finished: ScenarioRun, run: Run) -> None:
    assert finished.card.run_id == run.manifest.run_id == "a/b: ü 1"


def test_metrics_are_sampled_of_workers_and_scheduler(run: Run) -> None:
    sources = set(run.metrics["source"])

    assert sources == {"scheduler", *run.workers["address"]}
    assert run.metrics["memory"].drop_nulls().min() > 10 * 2**20  # type: ignore[operator]


def test_environment_and_graphs_are_recorded(run: Run) -> None:
    [scheduler] = details(run, "scheduler-info")
    graphs = details(run, "graph-updated")
    drivers = [each for each in details(run, "driver-attached") if "argv" in each]

    assert scheduler["packages"]["distributed"]
    assert "distributed" in scheduler["config"]
    assert [g["tasks"] for g in graphs if "nothing" in g["prefixes"]] == [TASKS]
    assert "executions.py" in drivers[0]["argv"][0]
    assert drivers[0]["packages"]["distributed"]


def test_a_recording_survives_no_process_and_leaves_no_file(
    finished: ScenarioRun,
) -> None:
    finished.home.quiet()

    assert finished.home.left_over() == []


def _misjudge_the_clock(dask_worker: Worker) -> None:
    dask_worker.periodic_callbacks["heartbeat"].stop()  # which estimates it anew
    dask_worker.scheduler_delay += 60.0


def test_no_task_stops_after_the_scheduler_has_received_its_result(
    tmp_path: Path,
) -> None:
    with (
        LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        with recording(client, store=tmp_path, job="clocks") as rec:
            client.run(_misjudge_the_clock)
            assert client.submit(len, "late", key="late-1").result() == 4
            received = datetime.now(UTC)
        run = Run.open(rec.card.links["recording"])

    [start, stop] = run.tasks.select("start", "stop").row(0)
    assert start <= stop <= received
