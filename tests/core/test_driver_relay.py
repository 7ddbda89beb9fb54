"""A scheduler behind a forwarded port, or behind a connection of a kind of its own."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest
from scenario_runs import Home, messages, run_scenario
from stored_events import details

pytestmark = pytest.mark.processes


@pytest.mark.parametrize(
    "kind", ["private", pytest.param("tcp", marks=pytest.mark.nightly)]
)
def test_a_scheduler_that_only_the_driver_can_reach_is_recorded_in_full(
    homes: Callable[[], Home], kind: str
) -> None:
    home = homes()
    finished = run_scenario(home, "forwarded.py", str(home.folder / "store"), kind)
    tasks, run = finished.run.tasks, finished.run

    assert finished.card.completeness == {
        "recorded": True,
        "kept": "store",
        "complete": True,
    }
    assert tasks.filter(pl.col("outcome") == "finished").height == 2_203
    assert run.errors["exception"].to_list() == ["ZeroDivisionError"]
    assert messages(run.logs, "through the driver") == ["through the driver"]
    assert details(run, "scheduler-lost") == []
    home.quiet()
    assert home.left_over() == []
