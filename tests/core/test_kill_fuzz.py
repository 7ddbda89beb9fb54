"""A short round of the kill fuzzer: `tests/support/kill_fuzz.py` runs as many as one likes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from fuzz_draws import drawn
from kill_fuzz import judge_round
from scenario_runs import Home

pytestmark = pytest.mark.kills

SEEDS = {
    "network silent for the recorder": 106,
    "clock of the driver's host set forward": 56,
}
SEEDS_THAT_WENT_WRONG = {
    "network refused as the run ends": 1795431252,
    "scheduler killed, whose workers share a process": 1795490007,
    "recorder of the preload killed as the run ends": 1795490030,
    "scheduler of a SubprocessCluster crashed, and was closed in vain": 1795610021,
    "file where the spool's folder was": 1797100004,
    "scheduler crashed before its preload's recorder was there": 1795500026,
}


@pytest.fixture
def home() -> Iterator[Home]:
    # The names of sockets have 107 characters at most.
    with tempfile.TemporaryDirectory(prefix="z") as folder:
        yield Home(Path(folder))


@pytest.mark.parametrize("seed", SEEDS.values(), ids=SEEDS)
def test_a_round_is_recorded_as_it_really_went(seed: int, home: Home) -> None:
    _judge(seed, home)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "seed", SEEDS_THAT_WENT_WRONG.values(), ids=SEEDS_THAT_WENT_WRONG
)
def test_a_round_that_went_wrong_is_recorded_as_it_really_went(
    seed: int, home: Home
) -> None:
    _judge(seed, home)


def _judge(seed: int, home: Home) -> None:
    found = judge_round(drawn(seed), home)

    assert found.wrong == [], found.seen
    assert found.done
