"""A part of the kill matrix; `kill_matrix.py --all` runs all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from kill_checks import Seen
from kill_matrix import ROWS
from kill_runs import kill_and_look
from scenario_runs import Home

pytestmark = [pytest.mark.kills, pytest.mark.nightly]

_TELLING = (
    "worker · SIGTERM · --no-nanny",
    "worker · SIGKILL · --nworkers",
    "nanny · SIGTERM · dask spec",
    "nanny and worker · SIGKILL · commands",
    "scheduler · SIGKILL · commands",
    "scheduler · SIGTERM · --no-nanny",
    "scheduler · client.shutdown · commands",
    "driver · SIGTERM · commands",
    "everything · SIGKILL · LocalCluster",
    "nobody · restart · LocalCluster",
    "nobody · scale_down · SpecCluster",
)
_AT_ONCE = 4  # they mostly wait for each other's ends
_CHOSEN = {str(row): row for row in ROWS if str(row) in _TELLING}


@pytest.fixture(scope="module")
def finished_runs(homes: Callable[[], Home]) -> Iterator[dict[str, Future[Seen]]]:
    """Return what was seen of each row, by its name."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        yield {
            name: pool.submit(kill_and_look, row, homes(), within=0.5)
            for name, row in _CHOSEN.items()
        }


@pytest.mark.parametrize("name", _TELLING)
def test_who_ended_how_stands_on_the_card(
    finished_runs: dict[str, Future[Seen]], name: str
) -> None:
    seen = finished_runs[name].result()

    assert seen.wrong == [], seen.facts
