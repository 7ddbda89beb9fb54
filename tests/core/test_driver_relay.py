"""A scheduler behind a forwarded port, or behind a connection of a kind of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from dask_blackbox import Run, RunCard
from scenario_runs import Home, begin, ended, messages, run_scenario
from stored_events import details

pytestmark = pytest.mark.processes


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("private", "opened"),
        pytest.param("private", "given", marks=pytest.mark.nightly),
        pytest.param("tcp", "given", marks=pytest.mark.nightly),
    ],
)
def test_a_scheduler_that_only_the_driver_can_reach_is_recorded_in_full(
    homes: Callable[[], Home], kind: str, how: str
) -> None:
    home = homes()
    finished = run_scenario(home, "forwarded.py", str(home.folder / "store"), kind, how)

    assert finished.reported["remains"] == []
    _check(finished.run, finished.card)
    home.quiet()
    assert home.left_over() == []


@pytest.mark.nightly
def test_a_command_whose_scheduler_only_it_can_reach_is_recorded_in_full(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    store = str(home.folder / "store")
    words = ("dask", "blackbox", "run", "--store", store, "--job", "forwarded", "--")
    arguments = ("forwarded.py", store, "private", "command")
    finished = ended(home, begin(home, *arguments, by=(sys.executable, "-m", *words)))
    (card,) = Path(store).glob("runs/*/*/*/card.json")
    run = Run.open(card)

    assert finished.code == 0, finished.errors
    assert finished.reported["remains"] == []
    _check(run, run.stored_card())
    home.quiet()
    assert home.left_over() == []


def _check(run: Run, card: RunCard) -> None:
    assert card.completeness == {"recorded": True, "kept": "store", "complete": True}
    assert run.tasks.filter(pl.col("outcome") == "finished").height == 2_203
    assert run.errors["exception"].to_list() == ["ZeroDivisionError"]
    assert messages(run.logs, "through the driver") == ["through the driver"]
    assert details(run, "scheduler-lost") == []
