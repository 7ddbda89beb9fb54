"""A cluster of another distributed and another Python, with nothing of ours: recorded in full.

Two pairs of the skew matrix; `python tests/support/skew_matrix.py` runs all of them.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from scenario_runs import Home
from skew_matrix import OURS, Pair, Seen, Unavailable, Versions, look, python_of
from stored_events import details

pytestmark = [pytest.mark.processes, pytest.mark.nightly]


def brought(distributed: str, *pythons: str) -> Versions:
    """Return the first of these environments that can be made here."""
    reasons = []
    for python in (*pythons, OURS.python):
        versions = Versions(distributed, python)
        try:
            python_of(versions)
        except Unavailable as error:
            reasons.append(str(error))
        else:
            return versions
    pytest.skip(f"uv cannot bring distributed {distributed} here: {reasons[-1]}")


@pytest.fixture(scope="module")
def driven(homes: Callable[[], Home]) -> Seen:
    """A client of ours on a cluster of the year before."""
    return look(Pair(brought("2025.7.0", "3.13", "3.12"), OURS, "recording()"), homes())


@pytest.fixture(scope="module")
def attached(homes: Callable[[], Home]) -> Seen:
    """A cluster and a client of the year before last; ours could not even connect."""
    old = brought("2024.8.2", "3.10", "3.12")
    return look(Pair(old, old, "dask blackbox record", nanny=False), homes())


@pytest.mark.parametrize("which", ["driven", "attached"])
def test_a_cluster_of_other_versions_is_recorded_in_full(
    request: pytest.FixtureRequest, which: str
) -> None:
    seen: Seen = request.getfixturevalue(which)

    assert seen.refused is None
    assert seen.steps["sum"] == "6"
    assert seen.lacks() == []
    assert seen.card is not None
    assert seen.card.completeness == {
        "recorded": True,
        "kept": "store",
        "complete": True,
    }


@pytest.mark.parametrize("which", ["driven", "attached"])
def test_nobody_sees_a_traceback_of_ours(
    request: pytest.FixtureRequest, which: str
) -> None:
    seen: Seen = request.getfixturevalue(which)

    assert "dask_blackbox" not in seen.errors
    assert "dask-blackbox went on" not in seen.errors


def test_versions_of_both_sides_are_recorded(driven: Seen) -> None:
    assert driven.run is not None
    [scheduler] = details(driven.run, "scheduler-info")
    drivers = [
        each for each in details(driven.run, "driver-attached") if "argv" in each
    ]

    assert scheduler["distributed"] == "2025.7.0"
    assert drivers[0]["packages"]["distributed"] != "2025.7.0"
