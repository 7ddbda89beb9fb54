"""Many recordings at once on one scheduler: each holds exactly what is its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import polars as pl
import pytest
from dask_blackbox import Run, RunCard
from scenario_runs import Home, ScenarioRun, begin, ended, messages
from stored_events import details

pytestmark = [pytest.mark.processes, pytest.mark.nightly]

PROCESSES, THREADS = 2, 2
WHO = [f"p{p}t{t}" for p in range(PROCESSES) for t in range(THREADS)]


@pytest.fixture(scope="module")
def finished(homes: Callable[[], Home]) -> ScenarioRun:
    home = homes()
    case = (
        "many_recordings.py",
        str(home.folder / "store"),
        str(PROCESSES),
        str(THREADS),
    )
    finished = ended(home, begin(home, *case), timeout=280)
    assert finished.code == 0, finished.errors[-5000:]
    return finished


def card_of(reported: Any) -> RunCard:
    return msgspec.convert(reported, RunCard)


def run_of(reported: Any) -> Run:
    return Run.open(card_of(reported).links["recording"])


def prefixes(run: Run) -> dict[str, int]:
    return dict(run.tasks.group_by("prefix").len().rows())


@pytest.mark.parametrize("who", WHO)
def test_each_recording_holds_its_own_tasks_and_no_others(
    finished: ScenarioRun, who: str
) -> None:
    tasks = run_of(finished.reported["cards"][who]).tasks
    shared = tasks.filter(pl.col("prefix") == "shared")["key"].sort().to_list()

    assert shared == sorted(f"shared-{who}-{n}-{i}" for n in range(3) for i in range(5))
    for name in ("flaky", "failing"):
        keys = tasks.filter(pl.col("prefix") == name)["key"].unique().to_list()
        assert keys == [f"{name}-{who}"]


@pytest.mark.parametrize("who", WHO)
def test_each_recording_holds_its_own_errors_and_no_others(
    finished: ScenarioRun, who: str
) -> None:
    errors = run_of(finished.reported["cards"][who]).errors.select("outcome", "message")

    assert errors.sort("outcome").rows() == [
        ("erred", f"the failure of {who}"),
        ("retried", f"first try of {who}"),
    ]


@pytest.mark.parametrize("who", WHO)
def test_each_recording_holds_the_lines_of_its_own_tasks_and_no_others(
    finished: ScenarioRun, who: str
) -> None:
    logs = run_of(finished.reported["cards"][who]).logs
    told = logs.filter(pl.col("message").str.contains("(told|warned) by shared"))
    lines = logs.filter(pl.col("logger").is_in(["job", "stdout"]))
    lines = lines.filter(~pl.col("message").is_in(told["message"].implode()))
    failed = logs.filter(pl.col("message").str.contains("Compute Failed"))

    assert lines.filter(pl.col("key").is_null()).height == 0
    assert lines.select("logger", "key").sort("logger", "key").rows() == sorted(
        (logger, f"shared-{who}-{n}-{i}")
        for logger in ("job", "stdout")
        for n in range(3)
        for i in range(5)
    )
    assert all(f"-{who}" in message for message in failed["message"].to_list())
    # What Dask shows in each client of the scheduler is a line of the task that told it.
    assert told.height > 0
    assert all(f"by shared-{who}-" in line for line in told["message"].to_list())


@pytest.mark.parametrize("who", WHO)
def test_each_recording_is_complete(finished: ScenarioRun, who: str) -> None:
    reported = card_of(finished.reported["cards"][who])

    assert reported.job == who
    assert reported.state == "succeeded"
    assert reported.completeness == {
        "recorded": True,
        "kept": "store",
        "complete": True,
    }


@pytest.mark.parametrize("who", WHO)
def test_no_recording_takes_what_another_ships_for_a_topic_of_the_users(
    finished: ScenarioRun, who: str
) -> None:
    run = run_of(finished.reported["cards"][who])

    assert all(f"shared-{who}-" in str(each) for each in details(run, "user-event"))
    assert all(f"shared-{who}-" in str(each) for each in details(run, "driver-warning"))
    assert len(messages(run.logs.filter(pl.col("key") == f"shared-{who}-0-0"), "a line of")) == 1  # fmt: skip


def test_a_client_that_a_recording_within_a_task_claims_is_that_ones(
    finished: ScenarioRun,
) -> None:
    reported = finished.reported["in_task"]

    assert prefixes(run_of(reported["mine"])) == {"inner": 1}
    assert prefixes(run_of(finished.reported["around"])) == {"recorded_task": 1}


def test_a_recording_within_a_task_may_have_a_cluster_of_its_own(
    finished: ScenarioRun,
) -> None:
    reported = finished.reported["in_task"]["other"]

    assert prefixes(run_of(reported)) == {"local": 2}
    assert card_of(reported).completeness == {
        "recorded": True,
        "kept": "store",
        "complete": True,
    }


def test_a_fork_while_recording_is_no_end_and_no_part_of_it(
    finished: ScenarioRun,
) -> None:
    run = run_of(finished.reported["forking"])

    assert finished.reported["child"] == 0
    assert run.tasks["key"].sort().to_list() == ["shared-after", "shared-before"]
    assert messages(run.logs, "a line of the child's") == []
    assert card_of(finished.reported["forking"]).state == "succeeded"


def test_nothing_of_them_stays_on_scheduler_and_workers(finished: ScenarioRun) -> None:
    assert finished.reported["after"] == finished.reported["before"]


def test_no_process_and_no_file_is_left(finished: ScenarioRun) -> None:
    finished.home.quiet()

    assert finished.home.left_over() == []
