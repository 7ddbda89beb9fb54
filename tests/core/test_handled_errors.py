"""Which handled errors led to the end of a driver, by its source.

The sources, in `data/handled_errors.toml`, are the ways in which jobs handle an error,
go on, and end.
"""

from __future__ import annotations

import asyncio
import sys
import tomllib
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

import dask
import pytest
from conditions import scaled
from dask_blackbox import error_flow
from dask_blackbox.capture.driver import (
    awaiting_tasks,
    client_calls,
    handled_errors,
)
from dask_blackbox.driver.run_end import is_stopped
from dask_blackbox.error_flow import ends, time_limit
from dask_blackbox.manifest import Stopped

JOBS: dict[str, dict[str, Any]] = {
    job["name"]: job
    for job in tomllib.loads(
        (Path(__file__).parent / "data" / "handled_errors.toml").read_text("utf-8")
    )["job"]
}


UNKNOWN = {"passed on"}
"""Errors of which nothing is known: no handler of the job's took them."""


class _Ended(BaseException):
    pass


@pytest.fixture(autouse=True)
def _unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Follow errors to their end, on a busy machine too."""
    monkeypatch.setattr(time_limit, "_WAITING", scaled(20))


@pytest.mark.parametrize("job", JOBS)
def test_errors_that_led_to_the_end_are_found(
    job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "job.py"
    file.write_text(JOBS[job]["source"])
    monkeypatch.setattr(handled_errors, "_first", [])
    names, found = dict[str, str](), dict[str, list[str]]()

    def remembered(name: str, *, returned: bool) -> ValueError:
        error = ValueError(name)
        frame = sys._getframe(2)
        names[handled_errors.remember(error, frame, returned=returned)] = name
        return error

    def call(name: str) -> NoReturn:
        raise remembered(name, returned=False)

    def given(name: str) -> ValueError:
        return remembered(name, returned=True)

    def status(name: str) -> str:
        remembered(name, returned=True)
        return "error"

    def end(code: object) -> NoReturn:
        number = code if isinstance(code, int) else 1
        found.update(ends.errors_behind(sys._getframe(1), number))
        raise _Ended

    class Log:
        def warning(self, *_: object) -> None:
            pass

    class Client:
        def submit(self, name: str) -> str:
            return name

    space: dict[str, Any] = {
        "call": call, "given": given, "status": status, "exit": end, "log": Log(),
        "client": Client(), "__name__": "job",
    }  # fmt: skip
    trace: TracebackType | None = None
    try:  # not `pytest.raises`: it suppresses, and is in the stack of the call
        exec(compile(file.read_text(), str(file), "exec"), space)
    except (_Ended, LookupError, SystemExit) as error:
        trace, code = error.__traceback__, getattr(error, "code", None)
    assert trace is not None
    if not found:
        found.update(ends.errors_behind(trace, code))
    related, missed = {*JOBS[job]["related"]}, {*JOBS[job]["missed"]}
    assert {names[each] for each in found["related_errors"]} == related
    assert {names[each] for each in found["missed_results"]} == missed
    others = {names[each] for each in found["unrelated_errors"]}
    assert others == {*names.values()} - related - missed - UNKNOWN


def test_without_time_nothing_is_said_of_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "job.py"
    file.write_text(
        "try:\n    call()\nexcept ValueError:\n    n = 1\nif n:\n    exit(1)\n"
    )
    monkeypatch.setattr(handled_errors, "_first", [])
    monkeypatch.setattr(time_limit, "_COMPUTING", -1.0)
    found = dict[str, list[str]]()

    def call() -> NoReturn:
        error = ValueError("no")
        handled_errors.remember(error, sys._getframe(1), returned=False)
        raise error

    def end(code: int) -> None:
        found.update(ends.errors_behind(sys._getframe(1), code))

    space = {"call": call, "exit": end, "__name__": "job"}
    exec(compile(file.read_text(), str(file), "exec"), space)

    assert {*map(len, found.values())} == {0}


def test_of_very_many_errors_the_first_and_the_newest_are_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(handled_errors, "_first", [])
    frame = sys._getframe()
    ids = [
        handled_errors.remember(ValueError(str(n)), frame, returned=False)
        for n in range(500)
    ]

    kept = [each.id for each in (*handled_errors._first, *handled_errors._newest)]

    assert len({*ids}) == 500
    assert kept == [*ids[:40], *ids[-60:]]


def test_a_recording_begins_without_the_errors_of_earlier_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client_calls, "_listeners", [])
    monkeypatch.setattr(client_calls, "_install", lambda: None)
    handled_errors.remember(ValueError("no"), sys._getframe(), returned=False)
    client_calls._seen.add("price-1")
    first, second = (client_calls.DriverCalls(lambda *_: None) for _ in range(2))

    first.start()
    try:
        assert not [*handled_errors._first, *handled_errors._newest]
        assert not client_calls._seen
        # Another recording of the same process does not take them from this one.
        error = handled_errors.remember(
            ValueError("no"), sys._getframe(), returned=False
        )
        second.start()
        assert [each.id for each in handled_errors._first] == [error]
    finally:
        first.stop()
        second.stop()


def test_who_waits_for_a_task_is_looked_for_until_that_has_taken_half_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def lines() -> list[int]:
        found = handled_errors.stack_of(sys._getframe())
        return [place.line for place in found if place.file == __file__]

    async def main() -> list[int]:
        return await asyncio.wait_for(asyncio.create_task(lines()), 5)

    monkeypatch.setattr(awaiting_tasks, "_spent", 0.0)
    called = asyncio.run(main())
    monkeypatch.setattr(awaiting_tasks, "_spent", 0.6)
    without = asyncio.run(main())

    assert main.__code__.co_firstlineno + 1 in called
    assert main.__code__.co_firstlineno + 1 not in without
    assert 0 < awaiting_tasks._LONGEST < 0.6


@pytest.mark.parametrize(
    ("stopped", "given", "followed"),
    [
        (False, None, True),
        (False, False, False),
        (True, None, False),
        (True, True, True),
    ],
)
def test_errors_are_followed_where_no_host_may_kill_the_process(
    *,
    stopped: bool,
    given: object,
    followed: object,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(handled_errors, "_first", [])
    file = tmp_path / "job.py"
    file.write_text(
        "n = 0\ntry:\n    call()\nexcept ValueError:\n    n = 1\nif n:\n"
        "    raise SystemExit(3)\n"
    )

    def call() -> NoReturn:
        error = ValueError("no")
        handled_errors.remember(error, sys._getframe(1), returned=False)
        raise error

    with (
        dask.config.set({"blackbox.capture.follow-errors": given}),
        pytest.raises(SystemExit) as raised,
    ):
        exec(compile(file.read_text(), str(file), "exec"), {"call": call})
    with dask.config.set({"blackbox.capture.follow-errors": given}):
        behind = error_flow.errors_behind(raised.tb.tb_next, 3, stopped=stopped)

    assert bool(behind["related_errors"]) == followed


@pytest.mark.parametrize(
    ("exception", "by_host", "stopped"),
    [
        (ValueError("no"), False, False),
        (SystemExit(3), False, False),
        (None, False, False),
        (KeyboardInterrupt(), False, True),
        (ValueError("no"), True, True),
    ],
)
def test_a_signal_or_the_host_stops_a_driver(
    exception: BaseException | None, *, by_host: bool, stopped: bool
) -> None:
    by = Stopped(by="airflow", reason="cancelled") if by_host else None

    assert is_stopped(exception, by) == stopped
