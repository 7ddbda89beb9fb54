"""A paused process is a fact of the recording, and no waiting for I/O."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from dask_blackbox.analyse import Case
from dask_blackbox.analyse.rules.performance_waiting import _waiting_prefixes
from dask_blackbox.events import ProcessPaused
from scenario_runs import Home, run_scenario

pytestmark = pytest.mark.processes


@pytest.mark.nightly
def test_pauses_of_worker_and_driver_are_recorded_and_are_no_waiting(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    finished = run_scenario(home, "paused.py", str(home.folder / "store"))
    run, worker = finished.run, finished.reported["worker"]
    pauses = {
        each.subject: each.seconds
        for each in run.of(ProcessPaused)
        if each.subject != "recorder"
    }

    assert pauses.keys() == {worker, "driver"}
    [computed] = run.tasks.filter(prefix="nap")["compute"]
    waiting = {
        each.prefix: each.waited for each in _waiting_prefixes(Case(run), share=0)
    }
    # To the interval of the looks.
    assert waiting.get("nap", 0.0) <= (computed - pauses[worker]) * 1.2
    assert finished.card.state == "succeeded"
