"""A run that hangs is distinguished from its neighbours, and from the library that it hangs in."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from dask_blackbox import Run
from scenario_runs import Home, ScenarioRun, run_scenario
from stored_events import details


@pytest.fixture(scope="module")
def finished(homes: Callable[[], Home]) -> ScenarioRun:
    home = homes()
    return run_scenario(home, "stalls.py", str(home.folder / "store"))


def hung(finished: ScenarioRun, job: str) -> Run:
    """Return the recording of a run that our own option ended."""
    error, recording = finished.reported[job]
    assert error in ("CancelledError", "FutureCancelledError")
    return Run.open(recording)


def test_a_run_hangs_though_another_on_the_same_scheduler_is_busy(
    finished: ScenarioRun,
) -> None:
    card = hung(finished, "resource").card()

    assert card.verdict is not None
    assert (card.state, card.verdict.rule) == ("failed", "no-valid-worker")


def test_what_hung_is_known_though_the_driver_gave_up_before(
    finished: ScenarioRun,
) -> None:
    run = Run.open(finished.reported["given_up"])

    assert [stall["states"]["no-worker"] for stall in details(run, "stall")] == [1]
    verdict = run.card().verdict
    assert verdict is not None
    assert verdict.rule == "no-valid-worker"


def test_only_the_run_that_hangs_is_ended(finished: ScenarioRun) -> None:
    assert finished.reported["other"] == 0, finished.errors[-3000:]
    assert finished.reported["state"] == "succeeded"
    assert finished.reported["recorded"] == finished.reported["done"] > 0


def test_a_stall_tells_nothing_of_another_runs_tasks(finished: ScenarioRun) -> None:
    for job in ("resource", "deep"):
        for stall in details(hung(finished, job), "stall"):
            assert sum(stall["states"].values()) == 1
            assert all(each["prefix"] != "inc" for each in stall["processing"])


def test_the_users_line_is_named_from_deep_below_it(finished: ScenarioRun) -> None:
    card = hung(finished, "deep").card()

    assert card.verdict is not None
    assert card.verdict.rule == "stalled"
    text = card.verdict.cause + "".join(fact.text for fact in card.verdict.evidence)
    assert "deep_in_a_library" in text
    assert "stalls.py" in text
