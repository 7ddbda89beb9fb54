"""What a machine that is gone has left in the store is finished by the next recording."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from dask_blackbox import Run, RunCard
from dask_blackbox.reader import list_runs
from dask_blackbox.testing import a_task, a_worker_added
from scenario_runs import Home, run_scenario
from stored_runs import Shelf

pytestmark = pytest.mark.processes


@pytest.mark.nightly
def test_a_lost_recording_is_finished_by_the_next_one_of_its_job(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    shelf = Shelf(home.folder / "store")
    facts = [a_worker_added(), *(a_task(f"load-{i}", start=i) for i in range(8))]
    lost = shelf.record("nightly", "run-1", *facts, state="lost")
    other = shelf.record("weekly", "run-1", *facts, state="lost")
    assert Run.at(shelf.store, lost).ending is None

    finished = run_scenario(
        home,
        "finishes_lost_run.py",
        shelf.url,
        f"{shelf.url}/{lost.folder}complete.json",
    )

    assert finished.card.state == "succeeded"
    home.quiet()
    run = Run.at(shelf.store, lost)
    card = msgspec.json.decode(shelf.store.get(f"{lost.folder}card.json"), type=RunCard)
    assert run.state == card.state == "lost"
    assert run.tasks.height == 8
    assert card.verdict is not None
    assert card.verdict.rule == "driver-killed"
    assert card.completeness["complete"] is False
    states = {entry.address.run: entry.state for entry in list_runs(shelf.store)}
    assert states["run-2"] == "succeeded"
    assert Run.at(shelf.store, other).ending is None
    assert not list(Path(home.temporary).glob("dbb-*"))
