"""A run that hangs is told from its neighbours, and from the library that it hangs in."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from dask_blackbox import Run
from scenario_runs import Flight, Home, fly
from stored_events import details


@pytest.fixture(scope="module")
def flight(homes: Callable[[], Home]) -> Flight:
    home = homes()
    return fly(home, "stalls.py", str(home.folder / "store"))


def hung(flight: Flight, job: str) -> Run:
    """Return the recording of a run that our own option ended."""
    error, recording = flight.told[job]
    assert error in ("CancelledError", "FutureCancelledError")
    return Run.open(recording)


def test_a_run_hangs_though_another_on_the_same_scheduler_is_busy(
    flight: Flight,
) -> None:
    card = hung(flight, "resource").card()

    assert card.verdict is not None
    assert (card.state, card.verdict.rule) == ("failed", "no-valid-worker")


def test_only_the_run_that_hangs_is_ended(flight: Flight) -> None:
    assert flight.told["other"] == 0, flight.errors[-3000:]
    assert flight.told["state"] == "succeeded"
    assert flight.told["recorded"] == flight.told["done"] > 0


def test_a_stall_tells_nothing_of_another_runs_tasks(flight: Flight) -> None:
    for job in ("resource", "deep"):
        for stall in details(hung(flight, job), "stall"):
            assert sum(stall["states"].values()) == 1
            assert all(each["prefix"] != "inc" for each in stall["processing"])


def test_the_users_line_is_named_from_deep_below_it(flight: Flight) -> None:
    card = hung(flight, "deep").card()

    assert card.verdict is not None
    assert card.verdict.rule == "stalled"
    text = card.verdict.cause + "".join(fact.text for fact in card.verdict.evidence)
    assert "deep_in_a_library" in text
    assert "stalls.py" in text
