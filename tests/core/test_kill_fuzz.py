"""A short round of the kill fuzzer: `tests/support/kill_fuzz.py` runs as many as one likes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fuzz_draws import drawn
from kill_fuzz import fly_round
from scenario_runs import Home

SEEDS: dict[str, Any] = {
    "network silent for the recorder": 106,
    "clock of the driver's host set forward": 56,
    "network refused as the run ends": pytest.param(
        1795431252, marks=pytest.mark.nightly
    ),
}


@pytest.fixture
def home() -> Iterator[Home]:
    # The names of sockets have 107 characters at most.
    with tempfile.TemporaryDirectory(prefix="z") as folder:
        yield Home(Path(folder))


@pytest.mark.parametrize("seed", SEEDS.values(), ids=SEEDS)
def test_a_round_is_recorded_as_it_really_went(seed: int, home: Home) -> None:
    found = fly_round(drawn(seed), home)

    assert found.wrong == [], found.seen
    assert found.done
