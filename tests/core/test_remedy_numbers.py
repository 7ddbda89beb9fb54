"""Numbers in remedies are arguments that Dask takes, and needs that are never too small."""

from __future__ import annotations

import pytest
from dask.utils import parse_bytes, parse_timedelta
from dask_blackbox.formatting import need, need_of_time, size, time_argument

MIB, GIB = 2**20, 2**30


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1s"), (45.9, "45s"), (60, "1m"), (90, "90s"), (150, "2m"),
     (3600, "1h"), (5400, "90m"), (8000, "2h")],
)  # fmt: skip
def test_a_time_as_an_option_takes_it_is_never_longer(
    seconds: float, text: str
) -> None:
    assert time_argument(seconds) == text
    assert parse_timedelta(text) <= max(seconds, 1)


@pytest.mark.parametrize(
    "number", [1000 * 1024, 1.44 * GIB, 9.96 * MIB, 11.2 * GIB, 3 * GIB]
)
def test_a_size_that_is_needed_is_never_rounded_down(number: float) -> None:
    assert number <= parse_bytes(need(number)) <= max(number * 1.1, number + 1)


def test_a_round_size_is_reported_as_any_other() -> None:
    for number in (400 * MIB, 1.5 * GIB, 12 * GIB, 512.0):
        assert need(number) == size(number)
    assert need(1.44 * GIB) == "1.5 GiB"
    assert size(1.44 * GIB) == "1.4 GiB"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(3.21, "3.3 s"), (12.1, "13 s"), (61.2, "1 m 02 s"), (3600.5, "1 h 01 m")],
)
def test_a_time_that_is_needed_is_never_rounded_down(seconds: float, text: str) -> None:
    assert need_of_time(seconds) == text
