"""Asking a diagnoser about the cases of sets, several at a time."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dask_failures.answer import Answer
from dask_failures.case import Case
from dask_failures.diagnoser import Asked, Request
from dask_failures.errors import BadAnswerError, UnknownCaseError
from dask_failures.judge import judge
from dask_failures.recording import with_lines
from dask_failures.running import run_script
from dask_failures.scoring import Result
from dask_failures.sets import FailureSet

__all__ = ["chosen", "score"]

_SHOWN = 300


def chosen(found: FailureSet, only: Sequence[str], *, run: bool) -> list[str]:
    """Return the cases of a set that are asked for and can be scored.

    Args:
        found: The set.
        only: Names of cases, causes or kinds of failure; empty: all.
        run: Those that have a script, else those that have a recording.
    """
    if found.info.asks != "cause":
        return []
    there = found.scripts if run else found.recorded
    return [
        name
        for name in there
        if not found.cases[name].accepted
        and (not only or _is_meant(name, found.cases[name], only))
    ]


def _is_meant(name: str, case: Case, only: Sequence[str]) -> bool:
    return not {name, *case.causes, case.group, case.kind, case.part}.isdisjoint(only)


def score(
    sets: Iterable[FailureSet],
    make: Callable[[], Asked],
    *,
    only: Sequence[str] = (),
    jobs: int = 1,
    recorder: str | None = None,
    json_lines: bool = False,
    report: Callable[[Result], None] = lambda _: None,
) -> list[Result]:
    """Ask about all cases of sets; return what the judge says of the answers.

    Args:
        sets: Which.
        make: Returns a new diagnoser; each job has one.
        only: Names of cases, causes or kinds; empty: all.
        jobs: How many cases at a time.
        recorder: Run the scripts under this command (empty: by themselves) instead of
            replaying recordings; None: replay.
        json_lines: Write the tables of recordings as lines of JSON as well.
        report: Is called with each result.

    Raises:
        UnknownCaseError: `only` names nothing.
        DiagnoserNotFoundError: The diagnoser cannot be started.
    """
    local = threading.local()
    made: list[Asked] = []
    results = []

    def one(found: FailureSet, name: str) -> Result:
        if not hasattr(local, "diagnoser"):
            local.diagnoser = make()
            made.append(local.diagnoser)
        return _asked(found, name, local.diagnoser, recorder, json_lines=json_lines)

    try:
        with ThreadPoolExecutor(jobs) as pool:
            for found in sets:
                names = chosen(found, only, run=recorder is not None)
                for result in _in_turn(pool, one, found, names):
                    report(result)
                    results.append(result)
    finally:
        for each in made:
            each.close()
    if only and not results:
        raise UnknownCaseError(" ".join(only))
    return results


def _in_turn(
    pool: ThreadPoolExecutor,
    one: Callable[[FailureSet, str], Result],
    found: FailureSet,
    names: Sequence[str],
) -> Iterator[Result]:
    futures = [pool.submit(one, found, name) for name in names]
    try:
        for each in futures:
            yield each.result()
    finally:
        for each in futures:
            each.cancel()


def _asked(
    found: FailureSet,
    name: str,
    diagnoser: Asked,
    recorder: str | None,
    *,
    json_lines: bool,
) -> Result:
    case, title = found.cases[name], f"{found.name}/{name}"
    answer: Answer | None = None
    why_not, begun = "", time.monotonic()
    with tempfile.TemporaryDirectory(
        prefix="dask-failures-", ignore_cleanup_errors=True
    ) as place:
        folder = Path(place)
        try:
            request = _request(found, name, folder, recorder)
            if json_lines:
                with_lines(folder)
            begun = time.monotonic()
            answer = diagnoser.ask(request)
        except BadAnswerError as error:
            why_not = str(error)
    result = judge(case, answer, why_not)
    return Result(
        case=title,
        group=case.group,
        causes=case.causes,
        kind=result.kind,
        cause=None if answer is None else answer.cause,
        confidence="" if answer is None else answer.confidence,
        problem=result.problem,
        text="" if answer is None else answer.text[:_SHOWN],
        seconds=round(time.monotonic() - begun, 3),
    )


def _request(
    found: FailureSet, name: str, folder: Path, recorder: str | None
) -> Request:
    title = f"{found.name}/{name}"
    if recorder is None:
        found.unpack_recording(name, folder)
        return Request(case=title, recording=str(folder))
    ended = run_script(found, name, folder, recorder)
    return Request(case=title, run=str(folder), exit=ended)
