"""A check of the job's own reports that a result is wrong, and not why."""

from __future__ import annotations

import pytest
from dask_blackbox.finding import Finding
from runs_from_rows import (
    Piece,
    a_run,
    a_task,
    a_worker,
    an_exception,
    failed_with,
    the_verdict,
)

LINE = {
    "raise": "raise ValueError('5 of 6 parts')",
    "assert": "assert len(parts) == 6",
    "call": "parts = count(folder)",
}


def verdict(how: str, *pieces: Piece, file: str = "/jobs/nightly.py") -> Finding:
    """Return the verdict on a driver that raised at one of these lines."""
    traceback = (
        "Traceback (most recent call last):\n"
        f'  File "{file}", line 7, in main\n    {LINE[how]}\nValueError: 5 of 6 parts\n'
    )
    raised = an_exception("ValueError", "5 of 6 parts", traceback=traceback)
    run = a_run(a_worker("tcp://w1"), *pieces, failed_with(raised))
    found = the_verdict(run)
    assert found.rule == "driver-exception"
    return found


@pytest.mark.parametrize("how", ["raise", "assert"])
def test_a_check_after_tasks_had_finished_is_not_the_cause(how: str) -> None:
    found = verdict(how, a_task())

    assert found.confidence == "medium"
    assert "This is a check in the job's own code" in found.cause


def test_what_the_interpreter_raises_of_the_line_itself_is_proved() -> None:
    assert verdict("call", a_task()).confidence == "high"


def test_a_check_before_any_task_is_of_what_the_run_was_given() -> None:
    assert verdict("raise").confidence == "high"


def test_what_a_library_raises_on_purpose_is_no_check_of_the_jobs() -> None:
    library = "/usr/lib/python3.11/site-packages/shop/client.py"

    assert verdict("raise", a_task(), file=library).confidence == "high"
