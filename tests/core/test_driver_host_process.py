"""A recording is a guest: of the driver's process, of a long-lived cluster, of other recordings."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import msgspec
import polars as pl
import pytest
from dask_blackbox import Run, RunCard
from scenario_runs import Home, ScenarioRun, messages, run_scenario
from stored_events import details

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def finished(homes: Callable[[], Home]) -> ScenarioRun:
    home = homes()
    return run_scenario(home, "host_process.py", str(home.folder / "store"))


def card(finished: ScenarioRun, name: str) -> RunCard:
    return msgspec.convert(finished.reported[name], RunCard)


def run(finished: ScenarioRun, name: str) -> Run:
    return Run.open(card(finished, name).links["recording"])


def prefixes(finished: ScenarioRun, name: str) -> dict[str, int]:
    tasks = run(finished, name).tasks
    return dict(tasks.group_by("prefix").len().rows())


def test_an_exception_of_the_users_passes_as_it_is(finished: ScenarioRun) -> None:
    assert finished.reported["same_exception"] is True
    assert finished.reported["context"] == "None"
    assert finished.reported["notes"] == []
    assert finished.reported["frames"] == ["an_exception_passes", "raising"]


def test_the_exception_is_on_the_card(finished: ScenarioRun) -> None:
    reported = card(finished, "passes")
    ending = run(finished, "passes").ending

    assert reported.state == "failed"
    assert reported.verdict is not None
    assert reported.verdict.rule == "driver-exception"
    assert ending is not None
    assert ending.exception is not None
    assert ending.exception.exception.endswith("UserError")
    assert ending.exception.function == "raising"


def test_finishing_twice_is_the_same_as_once(finished: ScenarioRun) -> None:
    assert finished.reported["finished_twice"] is True


def test_a_recording_within_a_recording_confuses_neither(finished: ScenarioRun) -> None:
    assert prefixes(finished, "inner") == {"of_inner": 4}
    assert prefixes(finished, "outer") == {"of_inner": 4, "of_outer": 6}
    for name in ("inner", "outer"):
        assert card(finished, name).completeness == {
            "recorded": True,
            "kept": "store",
            "complete": True,
        }


def test_two_clients_of_one_cluster_are_reported_apart(finished: ScenarioRun) -> None:
    assert prefixes(finished, "one") == {"of_one": 3}
    assert prefixes(finished, "other") == {"of_other": 4}


def test_the_last_log_lines_of_the_last_task_are_recorded(
    finished: ScenarioRun,
) -> None:
    cards = finished.reported["last_lines"]

    assert len(cards) == 3
    for i, reported in enumerate(cards):
        logs = Run.open(reported["links"]["recording"]).logs
        text = messages(logs.filter(pl.col("logger") == "stdout"), "last line")

        assert sorted(int(line.split()[-1]) for line in text) == list(
            range(20 * i, 20 * i + 20)
        )


def test_a_client_that_leaves_before_the_end_is_recorded(finished: ScenarioRun) -> None:
    assert prefixes(finished, "leaves") == {"work": 5}
    assert card(finished, "leaves").state == "succeeded"


def test_a_driver_without_dask_is_recorded(finished: ScenarioRun) -> None:
    found = run(finished, "no_dask")

    assert card(finished, "no_dask").state == "succeeded"
    assert messages(found.logs, "nothing of Dask here") == ["nothing of Dask here"]
    [warned] = details(found, "driver-warning")
    assert warned["message"] == "a warning of the user's"


@pytest.mark.skipif(sys.platform != "linux", reason="read from /proc")
def test_what_the_driver_itself_did_is_recorded(finished: ScenarioRun) -> None:
    [load] = details(run(finished, "no_dask"), "driver-load")

    assert 0 < load["cpu"] <= load["seconds"]
    assert load["delayed"] >= 0


def test_warnings_and_log_lines_still_reach_the_user(finished: ScenarioRun) -> None:
    assert finished.errors.count("UserWarning: a warning of the user's") == 1
    assert finished.errors.count("nothing of Dask here") == 1


def test_a_forked_child_neither_ends_nor_disturbs_the_recording(
    finished: ScenarioRun,
) -> None:
    found = run(finished, "forked")

    assert finished.reported["child_code"] == 0
    assert finished.reported["child"] == "running"
    assert card(finished, "forked").state == "succeeded"
    assert prefixes(finished, "forked") == {"work": 2}
    assert messages(found.logs, "a line of the") == ["a line of the parent's"]


def test_a_cluster_that_cannot_be_recorded_is_named_and_the_work_continues(
    finished: ScenarioRun,
) -> None:
    reported = card(finished, "dead_client")

    assert finished.reported["went_on"] is True
    assert reported.state == "succeeded"
    assert reported.completeness["complete"] is False
    assert "plugins on the cluster" in str(reported.completeness["missing"])


@pytest.mark.parametrize("where", ["driver", "workers", "nannies"])
def test_nothing_of_ours_stays(finished: ScenarioRun, where: str) -> None:
    assert finished.reported["after"][where] == finished.reported["before"][where]


def test_nothing_of_ours_stays_on_the_scheduler(finished: ScenarioRun) -> None:
    before: dict[str, Any] = finished.reported["before"]["scheduler"]

    assert finished.reported["after"]["scheduler"] == before
    assert before["topics"] == []


def test_no_file_stays_open(finished: ScenarioRun) -> None:
    files = finished.reported["files"]

    # What was open before may have been closed since: a pipe to a process that has ended.
    assert set(files["during"]) - set(files["before"])
    assert set(files["after"]) <= set(files["before"])


def test_no_process_and_no_file_is_left(finished: ScenarioRun) -> None:
    finished.home.quiet()

    assert finished.home.left_over() == []
