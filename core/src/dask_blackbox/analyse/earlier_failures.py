"""What had failed before a symptom, and is not explained by it.

A file that is missing, a wait that was given up or a count that is wrong may follow from an
error that the run itself had swallowed.  Such a verdict is not proved while one is on record.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.driver_output import OF_DASK, own_lines
from dask_blackbox.analyse.failures import TaskFailure
from dask_blackbox.analyse.frames import user_frame
from dask_blackbox.analyse.noise import NOISE
from dask_blackbox.analyse.printed_failures import printed_failures
from dask_blackbox.analyse.symptoms import is_symptom
from dask_blackbox.finding import Evidence, Finding
from dask_blackbox.formatting import class_of, counted, short

_ERROR_WORDS = (
    r"(?i)\b[A-Z]\w*(?:Error|Exception)\b|\b(?:errors?|fail(?:ed|ure|s)?|skipp(?:ed|ing)|"
    r"problems?|could not|cannot|can't|unable|refused|denied|giving up|gave up)\b"
)
"""What a job prints or logs of an error that it handles."""

_KINDS = frozenset(
    {"cannot-connect", "data-lost", "worker-start-failed", "workers-never-arrived"}
)
"""Verdicts about what was not there."""

_RAISED = frozenset({"driver-exception", "task-exception"})
_SHOWN = 3
_MOST = 1_000
"""The first lines of a job that are looked at: a flood of them takes no longer."""
_WARNING = 30
_LONGEST_ERROR, _LONGEST_LINE = 100, 2_000
"""Characters of an error, and of a line, in which one is looked for in the other."""


@dataclass(frozen=True)
class _Earlier:
    at: float
    name: str
    text: str
    message: str
    source: str


def doubted(case: Case, verdict: Finding) -> Finding:
    """Return a verdict on a symptom with what had failed before it, and less sure."""
    if verdict.confidence == "low" or verdict.rule not in _KINDS | _RAISED:
        return verdict
    texts, raised = " ".join(_texts(case, verdict)), tuple(_raised(case))
    found = [
        each
        for each in _earlier(case, symptom=_is_symptom(case, verdict))
        if not _is_explained(each, texts) and not _reports(each, raised)
    ]
    if not found:
        return verdict
    evidence = tuple(
        Evidence(text=each.text, source=each.source, at=each.at)
        for each in _once(sorted(found, key=lambda each: each.at))[:_SHOWN]
    )
    return msgspec.structs.replace(
        verdict, confidence="medium", evidence=(*verdict.evidence, *evidence)
    )


def _once(found: list[_Earlier]) -> list[_Earlier]:
    """Return each message once, of what a logger and its handler wrote."""
    kept = list[_Earlier]()
    for each in found[: 10 * _SHOWN]:
        if not any(each.message in one.message for one in kept):
            kept = [one for one in kept if one.message not in each.message]
            kept.append(each)
    return kept


def _is_symptom(case: Case, verdict: Finding) -> bool:
    if verdict.rule in _KINDS:
        return True
    failure = case.blame.failure
    if failure is not None:
        return is_symptom(failure.raised.name, failure.raised.message)
    exception = case.exception
    if exception is None:
        return True  # of an exit code, nothing is known
    return is_symptom(exception.exception, exception.message)


def _texts(case: Case, verdict: Finding) -> Iterator[str]:
    yield from (verdict.title, verdict.cause, verdict.remedy or "")
    yield from (each.text for each in verdict.evidence)
    exception = case.exception
    if exception is not None:
        yield from (exception.message, exception.traceback, *exception.chain)


def _is_explained(earlier: _Earlier, texts: str) -> bool:
    if earlier.message and earlier.message[:60] in texts:
        return True
    return bool(earlier.name) and re.search(rf"\b{earlier.name}\b", texts) is not None


def _raised(case: Case) -> Iterator[str]:
    """Yield the errors of the verdict, as words: class and message."""
    if (failure := case.blame.failure) is not None:
        yield _words(f"{class_of(failure.exception)} {failure.message}")
    if (exception := case.exception) is not None:
        yield _words(f"{class_of(exception.exception)} {exception.message}")


def _words(text: str) -> str:
    """Return a text without punctuation, which `str` and `repr` of an error set differently."""
    return " ".join(re.findall(r"\w+", text))[:_LONGEST_ERROR]


def _reports(earlier: _Earlier, raised: tuple[str, ...]) -> bool:
    """Say whether a line only reports the error that the verdict is about."""
    line = " ".join(re.findall(r"\w+", earlier.message[:_LONGEST_LINE]))
    return any(f" {each}" in f" {line}" for each in raised if " " in each)


def _earlier(case: Case, *, symptom: bool) -> Iterator[_Earlier]:
    failure = case.blame.failure
    until = case.outcome.decided_at if failure is None else failure.at
    found = [*_lines_of_the_job(case)]
    found += [*_tasks(case), *_printed(case), *_logged(case)] if symptom else []
    for each in found:
        if until is None or each.at < until:
            yield each


def _tasks(case: Case) -> Iterator[_Earlier]:
    """Yield the kinds of failures of tasks, but those that another test may expect."""
    failed = [
        each
        for each in case.failures
        if not each.killed
        and each is not case.blame.failure
        and (case.outcome.source != "test" or each.key in case.unreceived)
    ]
    numbers = Counter((each.prefix, each.exception) for each in failed)
    for (prefix, exception), number in numbers.items():
        first = min(
            (f for f in failed if (f.prefix, f.exception) == (prefix, exception)),
            key=lambda each: each.at,
        )
        name = class_of(exception)
        yield _Earlier(
            first.at,
            name,
            f"{counted(number, 'task')} '{prefix}' had failed with {name}: "
            f"{short(first.message, 120)}; {_received(case, first)}",
            first.message,
            "tasks",
        )


def _received(case: Case, failure: TaskFailure) -> str:
    if failure.key in case.unreceived:
        return "no call of the driver received that"
    return "the driver had received that and gone on"


def _printed(case: Case) -> Iterator[_Earlier]:
    for each in printed_failures(case.run):
        if each.traceback and user_frame(each.traceback) is None:
            continue
        where = (
            f"{each.place} of the driver" if each.place else "a program of the driver"
        )
        text = f"{short(each.text, 160)} had been raised in {where}"
        yield _Earlier(each.at, each.exception, text, each.message, "logs")


def _lines_of_the_job(case: Case) -> Iterator[_Earlier]:
    """Yield what the job's own code printed or logged of errors."""
    own = pl.col("message")
    logs = own_lines(case.run).filter(
        own.str.contains(_ERROR_WORDS)
        & ~own.str.contains(r"^\s|^Traceback|^[\w.]+(?:Error|Exception)\b")
    )
    if case.dialect.retrying:
        logs = logs.filter(~own.str.contains(case.dialect.retrying))
    first = logs.sort("at").unique("message", keep="first", maintain_order=True)
    for at, role, line in (
        first.head(_MOST)
        .select(pl.col("at").dt.epoch("us") / 1e6, "role", "message")
        .iter_rows()
    ):
        message = " ".join(str(line).split())
        who = "The driver" if role == "driver" else "A worker"
        yield _Earlier(
            at, "", f"{who} had printed: {short(message, 160)}", message, "logs"
        )


def _logged(case: Case) -> Iterator[_Earlier]:
    """Yield warnings and errors of the job's own loggers."""
    logs = case.run.logs.filter(
        (pl.col("level") >= _WARNING)
        & pl.col("role").is_in(["driver", "worker"])
        & ~pl.col("logger").fill_null("").str.contains(f"^(?:{OF_DASK})")
        & ~pl.col("logger").is_in(["stdout", "stderr", ""])
        & ~pl.any_horizontal(
            pl.col("message").str.contains(each, literal=True) for each in NOISE
        )
    )
    texts = logs.group_by("logger", "message", maintain_order=True).agg(
        pl.col("at").min().dt.epoch("us") / 1e6
    )
    for row in texts.sort("at", "message").head(_MOST).iter_rows(named=True):
        message = " ".join(str(row["message"]).split())
        text = f"{row['logger']} had logged: {short(message, 160)}"
        yield _Earlier(row["at"], "", text, message, "logs")
