"""How many tasks failed in the same way as the one that ended the run."""

from __future__ import annotations

import pytest
from dask_blackbox.analyse import Case
from dask_blackbox.analyse.exception_context import FailedAlike, same_failures
from dask_blackbox.run_tables import RunTables
from runs_from_rows import (
    Piece,
    a_failed_task,
    a_graph,
    a_run,
    a_task,
    a_worker,
    an_exception,
    raised_in,
    the_verdict,
)

LINE = 'Traceback (most recent call last):\n  File "/jobs/nightly.py", line {}, in parse\n    return int(text)\nValueError: bad'
ERROR = an_exception("ValueError", "bad", key="parse-0", traceback=LINE.format(7))


def a_sibling(n: int, *, outcome: str = "released", line: int = 7) -> Piece:
    return a_failed_task(
        f"parse-{n}",
        "ValueError",
        f"bad {n}",
        outcome=outcome,
        traceback=LINE.format(line),
    )


def alike(run: RunTables) -> FailedAlike:
    failure = Case(run).blame.failure
    assert failure is not None
    return same_failures(run, failure)


def test_siblings_that_were_not_awaited_count() -> None:
    siblings = [a_sibling(n) for n in range(1, 8)]
    executed = [a_task(f"parse-{n}", outcome="released") for n in range(1, 8)]
    run = a_run(a_worker(), a_graph(), a_failed_row(), *siblings, *executed, the_end())

    assert alike(run) == FailedAlike(failed=8, attempted=8)
    found = the_verdict(run)
    assert found.title.endswith("(8 of 8 tasks failed in the same way)")
    assert "8 of 8 executed tasks of 'parse' failed in the same way" in (found.cause)
    assert "failed too" not in found.cause


def test_a_long_message_does_not_cut_off_how_many_failed() -> None:
    long = "no tariff is valid for the meter 4711 on the first of November 2026 in Graz"
    tasks = [
        a_failed_task(f"tariff_of_household-{n}", "LookupError", f"{long} ({n})")
        for n in range(8)
    ]
    error = an_exception("LookupError", f"{long} (0)", key="tariff_of_household-0")
    end = raised_in("tariff_of_household-0", error)[-1]
    run = a_run(a_worker(), a_graph(), *tasks, end)

    found = the_verdict(run)
    assert found.title == (
        "LookupError in 'tariff_of_household': no tariff is valid for the meter 4711 on "
        "the first of November 202… (8 of 8 tasks)"
    )
    assert len(found.title) == 120


def a_failed_row() -> Piece:
    return a_failed_task("parse-0", "ValueError", "bad", traceback=LINE.format(7))


def the_end() -> Piece:
    return raised_in("parse-0", ERROR)[-1]


@pytest.mark.parametrize(
    "sibling",
    [
        pytest.param(a_sibling(1, line=90), id="another line"),
        pytest.param(a_sibling(1, outcome="retried"), id="it was tried again"),
        pytest.param(
            a_failed_task("parse-1", "KeyError", "qty", outcome="released"),
            id="another class",
        ),
        pytest.param(
            a_failed_task("sum-1", "ValueError", "bad", outcome="released"),
            id="another prefix",
        ),
        pytest.param(a_task("parse-1"), id="it finished"),
    ],
)
def test_what_failed_otherwise_does_not_count(sibling: Piece) -> None:
    run = a_run(a_worker(), a_graph(), a_failed_row(), sibling, the_end())

    assert alike(run).failed == 1
    found = the_verdict(run)
    assert "same way" not in found.title + found.cause


def test_one_bad_partition_of_many_is_named_alone() -> None:
    executed = [a_task(f"parse-{n}") for n in range(1, 8)]
    run = a_run(a_worker(), a_graph(), a_failed_row(), *executed, the_end())

    assert alike(run) == FailedAlike(failed=1, attempted=8)


def test_what_a_function_was_handling_comes_before_its_mistake_there() -> None:
    trace = """Traceback (most recent call last):
  File "/jobs/nightly.py", line 7, in parse
    archive = tarfile.open(path)
  File "/x/lib/python3.11/tarfile.py", line 1630, in open
    raise ReadError("not a gzip file")
tarfile.ReadError: not a gzip file

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/jobs/nightly.py", line 9, in parse
    archive.close()
UnboundLocalError: cannot access local variable 'archive'
"""
    raised = ("UnboundLocalError", "cannot access local variable 'archive'")
    error = an_exception(*raised, key="parse-0", traceback=trace)
    task = a_failed_task("parse-0", *raised, traceback=trace)
    run = a_run(a_worker(), a_graph(), task, raised_in("parse-0", error)[-1])

    found = the_verdict(run)
    assert found.title == (
        "ReadError in 'parse': not a gzip file; then UnboundLocalError"
    )
    assert "handling another exception then, ReadError: not a gzip file" in found.cause
