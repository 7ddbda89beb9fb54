"""A recorder that dies is replaced, and nothing is lost; when all have died, it is said."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from dask_blackbox.reader import find_run
from dask_blackbox.store import open_store
from scenario_runs import SCENARIOS, Home, begin_command, ended, messages, run_scenario
from stored_events import details

pytestmark = pytest.mark.processes


def test_a_recorder_that_is_killed_loses_nothing(homes: Callable[[], Home]) -> None:
    home = homes()
    finished = run_scenario(home, "recorder_killed.py", str(home.folder / "store"), "1")
    run = finished.run
    home.quiet()

    assert finished.code == 0
    assert run.tasks["key"].n_unique() == run.tasks.height == 1_000
    assert finished.card.state == "succeeded"
    assert len(details(run, "recorder-restarted")) == 1
    assert run.workers.height == 1
    assert home.left_over() == []


@pytest.mark.nightly
def test_a_recorder_that_is_killed_when_it_has_left_the_cluster_misses_nothing(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    finished = run_scenario(
        home, "recorder_killed.py", str(home.folder / "store"), "leaving"
    )
    home.quiet()

    assert finished.code == 0
    assert len(details(finished.run, "recorder-restarted")) == 1
    assert finished.run.tasks.height == 500
    assert finished.card.completeness == {
        "recorded": True,
        "kept": "store",
        "complete": True,
    }
    assert home.left_over() == []


@pytest.mark.nightly
@pytest.mark.parametrize("times", [1, 3])
def test_what_a_command_does_while_it_has_no_recorder_is_recorded(
    homes: Callable[[], Home], times: int
) -> None:
    home = homes()
    store = str(home.folder / "store")
    script = [sys.executable, str(SCENARIOS / "command_recorder_killed.py"), str(times)]
    words = ["blackbox", "run", "--store", store, "--", *script]
    finished = ended(home, begin_command(home, *words))
    run = find_run(open_store(store), "latest")
    [last] = messages(run.logs, " lines")
    home.quiet()

    assert finished.code == 0, finished.errors
    assert len(details(run, "recorder-restarted")) == times
    assert run.tasks.height == 2
    assert messages(run.logs, "line ") == [f"line {n}" for n in range(int(last[:-6]))]
    assert run.card().completeness == {
        "recorded": True,
        "kept": "store",
        "complete": True,
    }
    assert home.left_over() == []


@pytest.mark.nightly
def test_recorders_that_are_killed_again_and_again_are_replaced(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    finished = run_scenario(home, "recorder_killed.py", str(home.folder / "store"), "2")
    home.quiet()

    assert finished.code == 0
    assert finished.card.state == "succeeded"
    assert finished.run.tasks["key"].n_unique() == finished.run.tasks.height == 1_500
    assert len(details(finished.run, "recorder-restarted")) == 2
    assert finished.card.completeness == {
        "recorded": True,
        "kept": "store",
        "complete": True,
    }
    assert home.left_over() == []


@pytest.mark.nightly
def test_a_recorder_that_is_killed_before_it_has_spooled_anything_misses_nothing(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    store = str(home.folder / "store")
    finished = run_scenario(home, "recorder_killed.py", store, "starting")
    run = finished.run
    home.quiet()

    assert finished.code == 0, finished.errors
    assert finished.card.state == "succeeded"
    assert run.tasks["key"].n_unique() == run.tasks.height == 500
    assert messages(run.logs, "no recorder has") == ["no recorder has this on its disk"]
    assert any("python" in detail for detail in details(run, "driver-attached"))
    assert finished.card.completeness == {
        "recorded": True,
        "kept": "store",
        "complete": True,
    }
    assert home.left_over() == []


def test_the_driver_writes_how_the_run_ended_if_all_recorders_die(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    store = str(home.folder / "store")
    finished = run_scenario(home, "recorder_killed.py", store, "all")
    home.quiet()
    card = finished.card

    assert finished.code == 0
    assert card.state == "succeeded"
    assert card.completeness["recorded"] is False
    assert "the recorder died 5 times" in card.completeness["reason"]
    assert str(home.temporary) in card.completeness["reason"]

    synced = ended(home, begin_command(home, "blackbox", "sync"))
    later = find_run(open_store(store), "latest").card()

    assert synced.code == 0, synced.errors
    assert later.state == "succeeded"
    assert later.verdict is None
    assert "the recorder died 5 times" in str(later.completeness["missing"]["recorder"])
    assert home.left_over() == []
