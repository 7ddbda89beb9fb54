"""A cluster that does not answer when a recording begins is recorded from when it does."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from scenario_runs import Home, run_scenario
from stored_events import details

pytestmark = pytest.mark.processes


@pytest.mark.nightly
def test_a_registration_that_timed_out_is_tried_again(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    finished = run_scenario(home, "attach_later.py", str(home.folder / "store"))
    home.quiet()

    assert finished.card.state == "succeeded"
    assert finished.run.tasks.height == 20
    [failed] = details(finished.run, "capture-failed")
    assert "TimeoutError" in failed["error"]
    assert "the plugins on the cluster" in str(finished.card.completeness["missing"])
    assert home.left_over() == []
