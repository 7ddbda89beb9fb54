"""Many recordings at once on one scheduler: each holds exactly what is its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import polars as pl
import pytest
from dask_blackbox import Run, RunCard
from scenario_runs import Flight, Home, begin, ended, messages
from stored_events import details

pytestmark = pytest.mark.nightly

PROCESSES, THREADS = 2, 2
WHO = [f"p{p}t{t}" for p in range(PROCESSES) for t in range(THREADS)]


@pytest.fixture(scope="module")
def flight(homes: Callable[[], Home]) -> Flight:
    home = homes()
    story = ("many.py", str(home.folder / "store"), str(PROCESSES), str(THREADS))
    flight = ended(home, begin(home, *story), patience=280)
    assert flight.code == 0, flight.errors[-5000:]
    return flight


def card_of(told: Any) -> RunCard:
    return msgspec.convert(told, RunCard)


def run_of(told: Any) -> Run:
    return Run.open(card_of(told).links["recording"])


def prefixes(run: Run) -> dict[str, int]:
    return dict(run.tasks.group_by("prefix").len().rows())


@pytest.mark.parametrize("who", WHO)
def test_each_recording_holds_its_own_tasks_and_no_others(
    flight: Flight, who: str
) -> None:
    tasks = run_of(flight.told["cards"][who]).tasks
    shared = tasks.filter(pl.col("prefix") == "shared")["key"].sort().to_list()

    assert shared == sorted(f"shared-{who}-{n}-{i}" for n in range(3) for i in range(5))
    for name in ("flaky", "failing"):
        keys = tasks.filter(pl.col("prefix") == name)["key"].unique().to_list()
        assert keys == [f"{name}-{who}"]


@pytest.mark.parametrize("who", WHO)
def test_each_recording_holds_its_own_errors_and_no_others(
    flight: Flight, who: str
) -> None:
    errors = run_of(flight.told["cards"][who]).errors.select("outcome", "message")

    assert errors.sort("outcome").rows() == [
        ("erred", f"the failure of {who}"),
        ("retried", f"first try of {who}"),
    ]


@pytest.mark.parametrize("who", WHO)
def test_each_recording_holds_the_lines_of_its_own_tasks_and_no_others(
    flight: Flight, who: str
) -> None:
    logs = run_of(flight.told["cards"][who]).logs
    lines = logs.filter(pl.col("logger").is_in(["job", "stdout"]))
    failed = logs.filter(pl.col("message").str.contains("Compute Failed"))

    assert lines.filter(pl.col("key").is_null()).height == 0
    assert lines.select("logger", "key").sort("logger", "key").rows() == sorted(
        (logger, f"shared-{who}-{n}-{i}")
        for logger in ("job", "stdout")
        for n in range(3)
        for i in range(5)
    )
    assert all(f"-{who}" in message for message in failed["message"].to_list())


@pytest.mark.parametrize("who", WHO)
def test_each_recording_is_complete(flight: Flight, who: str) -> None:
    told = card_of(flight.told["cards"][who])

    assert told.job == who
    assert told.state == "succeeded"
    assert told.completeness == {"recorded": True, "complete": True}


@pytest.mark.parametrize("who", WHO)
def test_no_recording_takes_what_another_ships_for_a_topic_of_the_users(
    flight: Flight, who: str
) -> None:
    run = run_of(flight.told["cards"][who])

    assert details(run, "topic") == []
    assert len(messages(run.logs.filter(pl.col("key") == f"shared-{who}-0-0"), "a line of")) == 1  # fmt: skip


def test_a_client_that_a_recording_within_a_task_claims_is_that_ones(
    flight: Flight,
) -> None:
    told = flight.told["in_task"]

    assert prefixes(run_of(told["mine"])) == {"inner": 1}
    assert prefixes(run_of(flight.told["around"])) == {"recorded_task": 1}


def test_a_recording_within_a_task_may_have_a_cluster_of_its_own(
    flight: Flight,
) -> None:
    told = flight.told["in_task"]["other"]

    assert prefixes(run_of(told)) == {"local": 2}
    assert card_of(told).completeness == {"recorded": True, "complete": True}


def test_a_fork_while_recording_is_no_end_and_no_part_of_it(flight: Flight) -> None:
    run = run_of(flight.told["forking"])

    assert flight.told["child"] == 0
    assert run.tasks["key"].sort().to_list() == ["shared-after", "shared-before"]
    assert messages(run.logs, "a line of the child's") == []
    assert card_of(flight.told["forking"]).state == "succeeded"


def test_nothing_of_them_stays_on_scheduler_and_workers(flight: Flight) -> None:
    assert flight.told["after"] == flight.told["before"]


def test_no_process_and_no_file_is_left(flight: Flight) -> None:
    flight.home.quiet()

    assert flight.home.left_over() == []
