"""Limits of a run: of its own, and against the good runs of the job before it."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from click.testing import CliRunner, Result
from dask_blackbox.cli import blackbox
from dask_blackbox.layout import sketch_name
from dask_blackbox.sketch import Sketch, packed
from dask_blackbox.testing import EPOCH
from stored_runs import Shelf

MINUTE, GIB = 60.0, float(2**30)


def a_night(
    shelf: Shelf, number: int, minutes: float, gib: float, state: str = "succeeded"
) -> None:
    """Record a night with its card and its sketch."""
    started = EPOCH + number * 86_400
    numbers = {"duration": minutes * MINUTE, "peak_memory": gib * GIB, "deaths": 1.0}
    address = shelf.record(
        run_id=f"run-{number}", state=state, started=started, numbers=numbers
    )
    sketch = Sketch(
        job="nightly",
        run_id=f"run-{number}",
        state=state,
        started=started,
        duration=minutes * MINUTE,
        numbers=numbers,
    )
    name = sketch_name(
        address,
        started,
        state,
        duration=minutes * MINUTE,
        peak_memory=round(gib * GIB),
    )
    shelf.store.put(name, packed(sketch))


@pytest.fixture
def nights(shelf: Shelf) -> Shelf:
    """Return a store with four good nights of 10 minutes, a failed one, and a slow one."""
    for number in range(4):
        a_night(shelf, number, minutes=10, gib=2)
    a_night(shelf, 4, minutes=1, gib=9, state="failed")
    a_night(shelf, 5, minutes=15, gib=3)
    return shelf


def check(shelf: Shelf, *options: str) -> Result:
    return CliRunner().invoke(
        blackbox, ["check", *options, "--store", shelf.url], catch_exceptions=False
    )


@pytest.mark.parametrize(
    ("options", "code", "line"),
    [
        ((), 0, "✓ the run succeeded"),
        (("--max-slowdown", "1.6"), 0, "✓ duration 15 m 00 s is 1.50 times the median"),
        (("--max-slowdown", "1.3"), 3, "of 4 good runs (10 m 00 s); the limit is 1.3"),
        (
            ("--max-growth", "1.4"),
            3,
            "✗ peak memory of a worker 3 GiB is 1.50 times",
        ),
        (("--max-memory", "4GiB"), 0, "✓ peak memory of a worker 3 GiB"),
        (("--max-memory", "2 GiB"), 3, "✗ peak memory of a worker 3 GiB"),
        (("--max-duration", "20m"), 0, "✓ duration 15 m 00 s; the limit is 20 m 00 s"),
        (("--max-duration", "14m"), 3, "✗ duration 15 m 00 s; the limit is 14 m 00 s"),
        (("--max-deaths", "0"), 3, "✗ workers that died: 1; the limit is 0"),
        (("--max-compute", "9h"), 0, "? time that tasks computed is not known"),
        (("nightly/run-4",), 3, "✗ the run failed: it failed"),
        (("nightly/run-1", "--max-slowdown", "2"), 0, "was not compared: 1 good run"),
    ],
    ids=[
        "state",
        "slowdown kept",
        "slowdown",
        "growth",
        "memory kept",
        "memory",
        "duration kept",
        "duration",
        "deaths",
        "compute unknown",
        "failed",
        "few good runs",
    ],
)
def test_each_limit_is_kept_exceeded_or_unknown(
    nights: Shelf, options: Sequence[str], code: int, line: str
) -> None:
    result = check(nights, *options)

    assert line in result.output
    assert result.exit_code == code


def test_json_has_the_numbers(nights: Shelf) -> None:
    result = check(nights, "--max-slowdown", "1.3", "--json")
    found = json.loads(result.output)

    assert found["run"] == "nightly/run-5/1"
    assert found["checked"][1] | {"text": ""} == {
        "name": "slowdown",
        "verdict": "exceeded",
        "value": 1.5,
        "limit": 1.3,
        "text": "",
    }


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--max-memory", "12", "is not a size"),
        ("--max-memory", "many", "is not a size"),
        ("--max-duration", "10", "has no unit"),
        ("--max-slowdown", "0", "not in the range"),
    ],
)
def test_a_wrong_limit_is_refused(
    nights: Shelf, option: str, value: str, says: str
) -> None:
    result = check(nights, option, value)

    assert result.exit_code == 2
    assert says in result.output
