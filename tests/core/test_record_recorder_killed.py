"""A recorder that dies is replaced, and nothing is lost; one that dies twice is given up."""

from __future__ import annotations

from collections.abc import Callable

from flying import Home, fly


def test_a_recorder_that_is_killed_loses_nothing(homes: Callable[[], Home]) -> None:
    home = homes()
    flight = fly(home, "recorder_killed.py", str(home.folder / "store"), "1")
    run = flight.run
    home.quiet()

    assert flight.code == 0
    assert run.tasks["key"].n_unique() == run.tasks.height == 1_000
    assert flight.card.state == "succeeded"
    assert len(run.details("recorder-restarted")) == 1
    assert run.workers.height == 1
    assert home.left_over() == []


def test_a_recorder_that_is_killed_when_it_has_left_the_cluster_misses_nothing(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    flight = fly(home, "recorder_killed.py", str(home.folder / "store"), "leaving")
    home.quiet()

    assert flight.code == 0
    assert len(flight.run.details("recorder-restarted")) == 1
    assert flight.run.tasks.height == 500
    assert flight.card.completeness == {"recorded": True, "complete": True}
    assert home.left_over() == []


def test_a_recorder_that_is_killed_twice_is_given_up_and_the_card_says_so(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    flight = fly(home, "recorder_killed.py", str(home.folder / "store"), "2")
    card = flight.card
    home.quiet()

    assert flight.code == 0
    assert card.state == "succeeded"
    assert card.completeness["recorded"] is False
    assert "died twice" in card.completeness["reason"]
    assert str(home.temporary) in card.completeness["reason"]
