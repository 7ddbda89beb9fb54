"""Which handled errors led to the end of a driver, by its source.

The sources are the ways in which jobs handle an error, go on, and end.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from textwrap import dedent
from types import TracebackType
from typing import Any, NoReturn

import pytest
from dask_blackbox.capture.driver import (
    awaiting_tasks,
    client_calls,
    handled_errors,
)

JOBS: dict[str, tuple[str, set[str], set[str]]] = {
    "a list of names, counted": (
        """
        def main():
            failed = []
            for name in ("a", "b"):
                try:
                    call(name)
                except ValueError:
                    failed.append(name)
            if failed:
                exit(1)
        main()
        """,
        {"a", "b"},
        set(),
    ),
    "an expected error before another one that counts": (
        """
        def probe():
            try:
                return call("probe")
            except ValueError as error:
                log.warning("no probe: %s", error)
                return None

        def main():
            limits = probe()
            failed = []
            try:
                call("real")
            except ValueError:
                failed.append("real")
            if failed:
                exit(1)
        main()
        """,
        {"real"},
        set(),
    ),
    "a code that the handler returns": (
        """
        def step(name):
            try:
                call(name)
            except ValueError:
                return 3
            return 0

        def main():
            try:
                call("optional")
            except ValueError:
                pass
            return step("needed")
        exit(main())
        """,
        {"needed"},
        set(),
    ),
    "a code that another branch returns": (
        """
        def main():
            try:
                call("first")
            except ValueError:
                print("the cache is cold")
            done = [1, 2]
            if len(done) < 3:
                return 4
            return 0
        exit(main())
        """,
        set(),
        set(),
    ),
    "an error that another one replaces on its way": (
        """
        class Sheet:
            def __enter__(self):
                return self

            def __exit__(self, *_):
                raise KeyError("no sheet")

        try:
            with Sheet():
                call("passed on")
        except KeyError:
            exit(4)
        """,
        set(),
        set(),
    ),
    "in the handler": (
        """
        try:
            call("first")
        except ValueError:
            exit(2)
        """,
        {"first"},
        set(),
    ),
    "attempts that are used up": (
        """
        def load():
            for _ in range(2):
                try:
                    return call("load")
                except ValueError:
                    print("again")
            exit(1)
        load()
        """,
        {"load"},
        set(),
    ),
    "a result that is missing later": (
        """
        def collect(names):
            totals = {}
            for name in names:
                try:
                    totals[name] = call(name)
                except ValueError:
                    continue
            return totals

        def report(totals):
            print(totals["north"])

        try:
            call("hint")
        except ValueError:
            hint = None
        report(collect(["north"]))
        """,
        set(),
        {"north"},
    ),
    "an attribute of the job": (
        """
        class Job:
            def __init__(self):
                self.errors, self.notes = [], []

            def note(self, text):
                self.notes.append(text)

            def record(self, name):
                self.errors.append(name)

            def run(self):
                for name, by in (("x", self.note), ("y", self.record)):
                    pass
                try:
                    call("noted")
                except ValueError:
                    self.note("x")
                try:
                    call("recorded")
                except ValueError:
                    self.record("y")

            @property
            def ok(self):
                return not self.errors

        job = Job()
        job.run()
        if job.errors:
            exit(1)
        """,
        {"recorded"},
        set(),
    ),
    "results with a field, filtered": (
        """
        def run(name):
            try:
                value = call(name)
                return {"name": name, "ok": True, "value": value}
            except ValueError as error:
                return {"name": name, "ok": False, "error": str(error)}

        def main():
            results = [run(name) for name in ("a", "b")]
            bad = [each for each in results if not each["ok"]]
            if not bad:
                return
            exit(f"{len(bad)} of {len(results)} failed")
        main()
        """,
        {"a", "b"},
        set(),
    ),
    "a class that the handler is not for": (
        """
        def main():
            failed = False
            try:
                try:
                    call("a")
                except KeyError:
                    failed = True
            except ValueError:
                print("no matter")
            if failed:
                exit(1)
            exit(2)
        main()
        """,
        set(),
        set(),
    ),
    "an argument that a function fills": (
        """
        def work(name, failed, skipped):
            try:
                call(name)
            except ValueError:
                (skipped if name == "s" else failed).append(name)

        def skip(name, skipped):
            try:
                call(name)
            except ValueError:
                skipped.append(name)

        def finish(skipped, failed):
            print(len(skipped))
            if failed:
                exit(1)

        failed, skipped = [], []
        skip("s", skipped)
        skip("f", failed)
        finish(skipped, failed)
        """,
        {"f"},
        set(),
    ),
    "an error that a call returns": (
        """
        def main():
            errors = []
            for name in ("a",):
                error = given(name)
                if error is not None:
                    errors.append((name, error))
            if errors:
                exit(1)
        main()
        """,
        {"a"},
        set(),
    ),
    "a branch that is not taken, before an error of its own": (
        """
        def main():
            try:
                override = call("override")
            except ValueError:
                override = None
            rows = {"a": 1}
            if override is not None:
                rows.update(override)
            print(rows["b"])
        main()
        """,
        set(),
        set(),
    ),
    "what stands in for the result": (
        """
        def rates():
            try:
                return call("rates")
            except ValueError:
                return {"EUR": 1.0}

        def main():
            known = rates()
            totals = client.submit(known)
            print(totals["CHF"])
        main()
        """,
        {"rates"},
        set(),
    ),
    "one of two values that are returned": (
        """
        def collect():
            good, bad = {}, {}
            try:
                good["a"] = call("a")
            except ValueError:
                good["a"] = 0
            try:
                good["b"] = call("b")
            except ValueError as error:
                bad["b"] = error
            return good, bad

        def main():
            good, bad = collect()
            print(good)
            if bad:
                exit(1)
        main()
        """,
        {"b"},
        set(),
    ),
    "steps that one function attempts": (
        """
        def attempt(name, times=2):
            for turn in range(times):
                try:
                    result = call(name) if name == "net" or turn == 0 else 1
                except ValueError:
                    print("attempt failed", turn)
                else:
                    return result
            return None

        def main():
            gross = attempt("gross")
            net = attempt("net")
            print(gross)
            if net is None:
                exit("failed")
        main()
        """,
        {"net"},
        set(),
    ),
    "what is got elsewhere instead": (
        """
        def archive(name):
            return 3

        def readings(name):
            try:
                return call(name), True
            except ValueError as error:
                log.warning("no live feed: %s", error)
                return archive(name), None

        def main():
            found, _ = readings("live")
            if found < 4:
                exit(3)
        main()
        """,
        set(),
        {"live"},
    ),
    "a loop that may be left early, before another check": (
        """
        def main():
            rows = []
            for name in ("a", "b"):
                try:
                    rows.append(call(name))
                    if len(rows) > 5:
                        break
                except ValueError:
                    print("skipped", name)
            checked = [1, 2]
            if sum(checked) < 4:
                exit(3)
        main()
        """,
        set(),
        set(),
    ),
    "an entry of a table instead": (
        """
        FALLBACK = {"NOK": 3}

        def main():
            rates = {}
            for code in ("NOK",):
                try:
                    rates[code] = call(code)
                except ValueError as error:
                    log.warning("%s; yesterday's is taken", error)
                    rates[code] = FALLBACK[code]
            if rates["NOK"] > 2:
                exit(4)
        main()
        """,
        set(),
        {"NOK"},
    ),
    "estimates for what failed, among the results": (
        """
        class Run:
            def __init__(self):
                self.billed, self.quarantine = [1], []

            def collect(self, future):
                if status(future) == "error":
                    print(given(future + "2"))
                    self.quarantine.append(future)
                else:
                    self.billed.append(future)

            def estimate(self):
                for each in self.quarantine:
                    self.billed.append(7)

            def check(self, allowed):
                total = sum(self.billed)
                if total > allowed:
                    raise LookupError(f"{total} is too much")

        run = Run()
        run.collect("a")
        run.estimate()
        run.check(5)
        """,
        set(),
        {"a", "a2"},
    ),
    "a flag that the work sets at its end": (
        """
        def main():
            ok = False
            try:
                call("work")
                ok = True
            except ValueError as error:
                log.warning("did not finish: %s", error)
            if not ok:
                return 1
            return 0
        exit(main())
        """,
        {"work"},
        set(),
    ),
    "work that is sent again": (
        """
        def main():
            first, second, bad = ["a", "b"], {}, {}
            for name in first:
                error = given(name)
                if error is None:
                    print("good")
                elif name == "a" and isinstance(error, KeyError):
                    bad[name] = error
                elif isinstance(error, ValueError):
                    again = client.submit(name)
                    second[again] = name
                    first.append(again) if False else None
            try:
                call("c")
            except ValueError as error:
                bad["c"] = error
            if bad:
                exit(4)
        main()
        """,
        {"c"},
        set(),
    ),
    "futures whose status is looked at": (
        """
        def main():
            done, missing, kinds = [], [], []
            for name in ("a", "b"):
                if status(name) == "finished":
                    done.append(name)
                else:
                    print(type(given(name + "2")))
                    missing.append(name)
            odd = [name for name in ("c",) if status(name) == "error"]
            print(odd, kinds)
            if missing:
                exit(1)
        main()
        """,
        {"a", "b", "a2", "b2"},
        set(),
    ),
    "futures that are counted by their status": (
        """
        def main():
            bad = [name for name in ("a", "b") if status(name) == "error"]
            if bad:
                raise LookupError(f"{len(bad)} failed")
        main()
        """,
        {"a", "b"},
        set(),
    ),
    "an error that is suppressed": (
        """
        import contextlib
        with contextlib.suppress(ValueError):
            call("a")
        rows = [1]
        if len(rows) < 2:
            exit(1)
        """,
        set(),
        set(),
    ),
    "a status that is set otherwise": (
        """
        def main():
            status = 0
            try:
                warm = call("warm")
            except ValueError:
                warm = None
            try:
                call("load")
            except ValueError:
                status = 2
            finally:
                print("done")
            return status
        exit(main())
        """,
        {"load"},
        set(),
    ),
    "a table of the module's instead of what failed": (
        """
        PRINTED = {"north": 2.0}

        def prices():
            try:
                return call("prices")
            except ValueError:
                log.warning("the printed prices are used")
                return PRINTED

        def main():
            found = prices()
            if sum(found.values()) < 3:
                exit(4)
        main()
        """,
        set(),
        {"prices"},
    ),
    "a code that the module names": (
        """
        FAILED = 4

        def prices():
            try:
                call("prices")
            except ValueError:
                return FAILED
            return 0

        exit(prices())
        """,
        {"prices"},
        set(),
    ),
    "a report whose property gives the code": (
        """
        class Report:
            def __init__(self):
                self.failed = {}

            @property
            def code(self):
                return 4 if self.failed else 0

        def main():
            report = Report()
            try:
                rates = call("rates")
            except ValueError:
                rates = None
            try:
                call("real")
            except ValueError as error:
                report.failed["real"] = repr(error)
            if report.code:
                exit(report.code)
        main()
        """,
        {"real"},
        set(),
    ),
    "coroutines that a task waits for with a timeout": (
        """
        import asyncio

        async def result(name):
            call(name)

        async def main():
            failed = []
            try:
                await asyncio.wait_for(result("rates"), 5)
            except ValueError:
                rates = None
            for name in ("a", "b"):
                try:
                    await asyncio.wait_for(result(name), 5)
                except ValueError:
                    failed.append(name)
            if failed:
                exit(1)
        asyncio.run(main())
        """,
        {"a", "b"},
        set(),
    ),
    "tasks that are gathered in another coroutine": (
        """
        import asyncio

        async def one(name):
            await asyncio.sleep(0)
            call(name)

        async def main():
            try:
                await asyncio.gather(one("a"), asyncio.sleep(0))
            except ValueError:
                return 3
            return 0

        async def early():
            try:
                await asyncio.shield(one("early"))
            except ValueError:
                log.warning("not ready")
        asyncio.run(early())
        exit(asyncio.run(main()))
        """,
        {"a"},
        set(),
    ),
    "a command of click's within a function": (
        """
        import click

        def main():
            try:
                call("early")
            except ValueError:
                log.warning("not ready")

            @click.command()
            def compute():
                try:
                    call("real")
                except ValueError as error:
                    raise click.ClickException("not complete") from error

            compute([])
        main()
        """,
        {"real"},
        set(),
    ),
}


UNKNOWN = {"passed on"}
"""Errors of which nothing is known: no handler of the job's took them."""


class _Ended(BaseException):
    pass


@pytest.mark.parametrize("job", JOBS)
def test_errors_that_led_to_the_end_are_found(
    job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, related, missed = JOBS[job]
    file = tmp_path / "job.py"
    file.write_text(dedent(source))
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
        found.update(handled_errors.errors_behind(sys._getframe(1), number))
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
        found.update(handled_errors.errors_behind(trace, code))
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
    monkeypatch.setattr(handled_errors, "_LONGEST", -1.0)
    found = dict[str, list[str]]()

    def call() -> NoReturn:
        error = ValueError("no")
        handled_errors.remember(error, sys._getframe(1), returned=False)
        raise error

    def end(code: int) -> None:
        found.update(handled_errors.errors_behind(sys._getframe(1), code))

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
        found = handled_errors._stack_of(sys._getframe())
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
