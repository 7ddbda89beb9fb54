"""A recording is a guest: of the driver's process, of a long-lived cluster, of other recordings."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import msgspec
import polars as pl
import pytest
from dask_blackbox import Run, RunCard
from scenario_runs import Flight, Home, fly, messages
from stored_events import details


@pytest.fixture(scope="module")
def flight(homes: Callable[[], Home]) -> Flight:
    home = homes()
    return fly(home, "manners.py", str(home.folder / "store"))


def card(flight: Flight, name: str) -> RunCard:
    return msgspec.convert(flight.told[name], RunCard)


def run(flight: Flight, name: str) -> Run:
    return Run.open(card(flight, name).links["recording"])


def prefixes(flight: Flight, name: str) -> dict[str, int]:
    tasks = run(flight, name).tasks
    return dict(tasks.group_by("prefix").len().rows())


def test_an_exception_of_the_users_passes_as_it_is(flight: Flight) -> None:
    assert flight.told["same_exception"] is True
    assert flight.told["context"] == "None"
    assert flight.told["notes"] == []
    assert flight.told["frames"] == ["an_exception_passes", "raising"]


def test_the_exception_is_on_the_card(flight: Flight) -> None:
    told = card(flight, "passes")
    ending = run(flight, "passes").ending

    assert told.state == "failed"
    assert told.verdict is not None
    assert told.verdict.rule == "driver-exception"
    assert ending is not None
    assert ending.exception is not None
    assert ending.exception.exception.endswith("UserError")
    assert ending.exception.function == "raising"


def test_finishing_twice_is_the_same_as_once(flight: Flight) -> None:
    assert flight.told["finished_twice"] is True


def test_a_recording_within_a_recording_confuses_neither(flight: Flight) -> None:
    assert prefixes(flight, "inner") == {"of_inner": 4}
    assert prefixes(flight, "outer") == {"of_inner": 4, "of_outer": 6}
    for name in ("inner", "outer"):
        assert card(flight, name).completeness == {"recorded": True, "complete": True}


def test_two_clients_of_one_cluster_are_told_apart(flight: Flight) -> None:
    assert prefixes(flight, "one") == {"of_one": 3}
    assert prefixes(flight, "other") == {"of_other": 4}


def test_the_last_words_of_the_last_task_are_recorded(flight: Flight) -> None:
    for i, told in enumerate(flight.told["last_words"]):
        logs = Run.open(told["links"]["recording"]).logs
        said = messages(logs.filter(pl.col("logger") == "stdout"), "last words")

        assert sorted(int(line.split()[-1]) for line in said) == list(
            range(20 * i, 20 * i + 20)
        )


def test_a_client_that_leaves_before_the_end_is_recorded(flight: Flight) -> None:
    assert prefixes(flight, "leaves") == {"work": 5}
    assert card(flight, "leaves").state == "succeeded"


def test_a_driver_without_dask_is_recorded(flight: Flight) -> None:
    found = run(flight, "no_dask")

    assert card(flight, "no_dask").state == "succeeded"
    assert messages(found.logs, "nothing of Dask here") == ["nothing of Dask here"]
    [warned] = details(found, "driver-warning")
    assert warned["message"] == "a warning of the user's"


def test_what_the_driver_itself_did_is_recorded(flight: Flight) -> None:
    told = details(run(flight, "no_dask"), "driver-load")

    if sys.platform == "linux":
        [load] = told
        assert 0 < load["cpu"] <= load["seconds"]
        assert load["delayed"] >= 0


def test_warnings_and_log_lines_still_reach_the_user(flight: Flight) -> None:
    assert flight.errors.count("UserWarning: a warning of the user's") == 1
    assert flight.errors.count("nothing of Dask here") == 1


def test_a_forked_child_neither_ends_nor_disturbs_the_recording(flight: Flight) -> None:
    found = run(flight, "forked")

    assert flight.told["child_code"] == 0
    assert flight.told["child"] == "running"
    assert card(flight, "forked").state == "succeeded"
    assert prefixes(flight, "forked") == {"work": 2}
    assert messages(found.logs, "a line of the") == ["a line of the parent's"]


def test_a_cluster_that_cannot_be_recorded_is_named_and_the_work_goes_on(
    flight: Flight,
) -> None:
    told = card(flight, "dead_client")

    assert flight.told["went_on"] is True
    assert told.state == "succeeded"
    assert told.completeness["complete"] is False
    assert "plugins on the cluster" in str(told.completeness["missing"])


@pytest.mark.parametrize("where", ["driver", "workers", "nannies"])
def test_nothing_of_ours_stays(flight: Flight, where: str) -> None:
    assert flight.told["after"][where] == flight.told["before"][where]


def test_nothing_of_ours_stays_on_the_scheduler(flight: Flight) -> None:
    before: dict[str, Any] = flight.told["before"]["scheduler"]

    assert flight.told["after"]["scheduler"] == before
    assert before["topics"] == []


def test_no_file_stays_open(flight: Flight) -> None:
    assert flight.told["files"]["after"] == flight.told["files"]["before"]


def test_no_process_and_no_file_is_left(flight: Flight) -> None:
    flight.home.quiet()

    assert flight.home.left_over() == []
