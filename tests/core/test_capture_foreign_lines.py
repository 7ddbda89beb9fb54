"""Lines of other clients' tasks are left out of a recording, and are no loss."""

from __future__ import annotations

from typing import Any

import pytest
from dask_blackbox.analyse.completeness import missing_from
from dask_blackbox.testing import a_log, a_run, a_worker_added
from dask_blackbox.testing.facts import WORKER, Fact, an_event


def missing(*facts: Fact) -> Any:
    return missing_from(a_run(a_worker_added(), *facts)) or None


def lines(*numbers: int) -> list[Fact]:
    return [a_log("mine", seq=number) for number in numbers]


def left_out(*numbers: tuple[int, int], pid: int = 100) -> Fact:
    return an_event("lines-left-out", WORKER, pid=pid, numbers=numbers)


def test_lines_that_were_left_out_are_no_loss() -> None:
    assert missing(*lines(1, 5, 9), left_out((2, 4)), left_out((6, 8))) is None


def test_between_lines_that_were_left_out_a_loss_is_still_counted() -> None:
    found = missing(*lines(1, 9), left_out((2, 4), (6, 8)))

    assert found == {WORKER: ["1 log line lost"]}


@pytest.mark.parametrize("numbers", [[(2, 6), (4, 8)], [(4, 8), (2, 8)], [(2, 12)]])
def test_numbers_that_come_twice_count_once(numbers: list[tuple[int, int]]) -> None:
    assert missing(*lines(1, 9, 10), left_out(*numbers)) is None


def test_lines_of_another_process_are_its_own() -> None:
    found = missing(*lines(1, 4), left_out((2, 3), pid=7))

    assert found == {WORKER: ["2 log lines lost"]}
