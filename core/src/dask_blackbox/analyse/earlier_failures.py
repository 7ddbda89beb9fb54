"""What had failed before a symptom, and is not explained by it.

A file that is missing, a wait that was given up or a count that is wrong may follow from an
error that the run itself had handled.  Such a verdict is not proved while one is on record:
the first such error is named before the symptom, and both with medium confidence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import msgspec
import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.driver_output import NOISE, OF_DASK, own_lines
from dask_blackbox.analyse.failures import TaskFailure
from dask_blackbox.analyse.frames import raised_at_end, user_frame
from dask_blackbox.analyse.printed_failures import printed_failures
from dask_blackbox.analyse.retry_advice import UNKNOWN, Advice, advice_on_text
from dask_blackbox.analyse.side_effects import (
    brief_command,
    cancelled_by_driver,
    failed_programs,
    how_it_ended,
    is_related,
    names_exit_of,
    whose,
)
from dask_blackbox.analyse.symptoms import is_symptom, is_wait, lacks_something
from dask_blackbox.events import ProgramFailed
from dask_blackbox.finding import ChainStep, Evidence, Finding
from dask_blackbox.formatting import (
    class_of,
    counted,
    short,
    short_with_paths,
)

_ERROR_WORDS = (
    r"(?i)\b[A-Z]\w*(?:Error|Exception)\b|\b(?:errors?|fail(?:ed|ure|s)?|skipp(?:ed|ing)|"
    r"problems?|could not|cannot|can't|unable|refused|denied|giving up|gave up)\b"
)
"""What a job prints or logs of an error that it handles."""

_NONE_FAILED = (
    r"(?i)(?:^|[,;:(]\s*|\b(?:and|with) )0 (?:\w+ )?(?:errors?|fail(?:ed|ures?))\b|"
    r"\b(?:no|without) (?:\w+ )?(?:errors?|failures?)\b|"
    r"\b(?:errors?|fail(?:ed|ures?)) ?[:=]? ?0\b"
)
"""What a job prints where nothing has failed."""

_KINDS = frozenset(
    {
        "cannot-connect",
        "data-lost",
        "worker-start-failed",
        "workers-never-arrived",
    }
)
"""Verdicts about what was not there."""

_RAISED = frozenset({"driver-exception", "task-exception"})
_RAISED_IN_LINE = re.compile(r"\b(?P<name>[A-Z]\w*(?:Error|Exception))\b")
_LEVEL = re.compile(
    r"^(?:(?:DEBUG|INFO|WARNING|ERROR|CRITICAL|Error)\b[:\s]+)(?:[\w.]+:(?=\S))?"
)
"""What `logging.basicConfig` and command-line programs print before a message."""
_SHOWN = 3
_MOST = 1_000
"""The first lines of a job that are looked at: a flood of them takes no longer."""
_WARNING = 30
_LONGEST_ERROR, _LONGEST_LINE = 100, 2_000
"""Characters of an error, and of a line, in which one is looked for in the other."""


@dataclass(frozen=True, kw_only=True)
class _Earlier:
    """Something that had failed.

    Attributes:
        at: Epoch seconds.
        name: Name of the exception's class; empty: not known.
        text: A sentence, without its end.
        message: What was raised or printed.
        source: Of the evidence.
        headline: What it was, for a title; empty: it may well have nothing to do with
            the verdict, and is only evidence.
        advice: Whether a retry helps after it.
    """

    at: float
    name: str = ""
    text: str
    message: str
    source: str
    headline: str = ""
    advice: Advice = UNKNOWN


@dataclass(frozen=True, kw_only=True)
class _Program(_Earlier):
    """A program that had failed."""

    program: ProgramFailed


def with_earlier_failures(case: Case, verdict: Finding) -> Finding:
    """Return a verdict on a symptom with what had failed before it, and less sure.

    Args:
        case: The run.
        verdict: Its verdict.
    """
    cancelled = verdict.rule == "cancelled" and cancelled_by_driver(case)
    if verdict.rule not in _KINDS | _RAISED and not cancelled:
        return verdict
    texts, raised = " ".join(_texts(case, verdict)), tuple(_raised(case))
    found = [
        each
        for each in _earlier(case, verdict)
        if not _is_explained(each, texts) and not _reports(each, raised)
    ]
    if not found:
        return verdict
    found = _once(sorted(found, key=lambda each: each.at))
    verdict = msgspec.structs.replace(
        verdict,
        confidence="low" if verdict.confidence == "low" else "medium",
        evidence=(*verdict.evidence, *map(_evidence, found[:_SHOWN])),
    )
    lacking = verdict.rule not in _RAISED or _ended_with(case, lacks_something)
    if case.exception is None and case.outcome.survived:
        lacking = False  # the verdict names what the driver had handled last
    first = next((each for each in found if each.headline and lacking), None)
    return verdict if first is None else _following(first, verdict)


def _evidence(earlier: _Earlier) -> Evidence:
    return Evidence(text=earlier.text, source=earlier.source, at=earlier.at)


def _following(earlier: _Earlier, verdict: Finding) -> Finding:
    """Return a verdict whose headline begins with the failure that may have led to it."""
    step = ChainStep(
        at=earlier.at, text=earlier.headline, evidence=(_evidence(earlier),)
    )
    return msgspec.structs.replace(
        verdict,
        title=f"{earlier.headline}; then {_uncapitalised(short_with_paths(verdict.title, 140))}",
        cause=(
            f"{verdict.cause} Before that, {_uncapitalised(earlier.text)}. The job "
            "continued, and what then ended it may be the consequence."
        ),
        remedy=f"Look first at what failed before: {earlier.headline}. {verdict.remedy}",
        follows=step,
        retry_advice=earlier.advice.advice,
        retry_confidence=earlier.advice.confidence,
    )


def _uncapitalised(text: str) -> str:
    """Return a sentence's beginning for the middle of one: "The driver" as "the driver"."""
    articles = ("The ", "A ", "An ")
    return text[0].lower() + text[1:] if text.startswith(articles) else text


def _once(found: list[_Earlier]) -> list[_Earlier]:
    """Return each message once, of what a logger and its handler wrote."""
    kept = list[_Earlier]()
    for each in found[: 10 * _SHOWN]:
        if not any(each.message in one.message for one in kept):
            kept = [one for one in kept if one.message not in each.message]
            kept.append(each)
    return kept


def _is_symptom(case: Case, verdict: Finding) -> bool:
    return verdict.rule not in _RAISED or _ended_with(case, is_symptom)


def _ended_with(case: Case, test: Callable[[str, str], bool]) -> bool:
    """Say whether a test of class and message holds for what ended the run."""
    failure = case.blame.failure
    if failure is not None:
        return test(failure.raised.name, failure.raised.message)
    exception = case.exception
    if exception is None:
        return True  # of an exit code, nothing is known
    return test(exception.exception, exception.message)


def _texts(case: Case, verdict: Finding) -> Iterator[str]:
    yield from (verdict.title, verdict.cause, verdict.remedy or "")
    yield from (each.text for each in verdict.evidence)
    exception = case.exception
    if exception is not None:
        yield from (exception.message, exception.traceback, *exception.chain)


def _is_explained(earlier: _Earlier, texts: str) -> bool:
    if isinstance(earlier, _Program):
        return names_exit_of(earlier.program, texts)
    message = _LEVEL.sub("", earlier.message)[:60]
    if message and message in texts:
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


def _earlier(case: Case, verdict: Finding) -> Iterator[_Earlier]:
    failure = case.blame.failure
    until = case.outcome.decided_at if failure is None else failure.at
    found = [*_lines_of_the_job(case)]
    if _is_symptom(case, verdict):
        leads = verdict.rule == "cancelled" or _ended_with(case, is_wait)
        found += [
            *_tasks(case, leads=leads),
            *_printed(case),
            *_logged(case),
            *_programs(case),
        ]
    for each in found:
        if until is None or each.at < until:
            yield each


def _tasks(case: Case, *, leads: bool) -> Iterator[_Earlier]:
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
            at=first.at,
            name=name,
            text=f"{counted(number, 'task')} '{prefix}' had failed with {name}: "
            f"{short(first.message, 120)}; {_received(case, first)}",
            message=first.message,
            source="tasks",
            # What a task held when it failed, others wait for, and a job that one failed
            # cancels others; else tasks have their own reasons.
            headline=f"{name} in '{short(prefix, 40)}': {short(first.message, 80)}"
            if leads
            else "",
            advice=advice_on_text(exception, first.message, first.bases),
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
        yield _Earlier(
            at=each.at,
            name=each.exception,
            text=f"{short(each.text, 160)} had been raised in {where}",
            message=each.message,
            source="logs",
            headline=f"{short(each.text, 80)} in {where}",
            advice=advice_on_text(each.exception, each.message),
        )


def _programs(case: Case) -> Iterator[_Earlier]:
    """Yield programs whose exit codes the driver, or a task, had ignored."""
    for each in failed_programs(case):
        how = how_it_ended(each)
        owner = whose(case, each.subject)
        name = f"Program “{short(brief_command(each.command), 60)}” of {owner} {how}"
        related = is_related(each, case.blame.failure)
        yield _Program(
            program=each,
            at=each.at,
            text=f"A program of {owner}, {short_with_paths(each.command, 160)}, had {how}",
            message=each.error or f"{each.command} {how}",
            source="driver" if each.subject == "driver" else "tasks",
            headline=name if related else "",
        )


def _lines_of_the_job(case: Case) -> Iterator[_Earlier]:
    """Yield what the job's own code printed or logged of errors."""
    own = pl.col("message")
    logs = own_lines(case.run).filter(
        own.str.contains(_ERROR_WORDS)
        & ~own.str.contains(_NONE_FAILED)
        & ~own.str.contains(r"^\s|^Traceback|^[\w.]+(?:Error|Exception)\b")
    )
    if case.dialect.notices:
        logs = logs.filter(~own.str.contains(case.dialect.notices))
    first = logs.sort("at").unique("message", keep="first", maintain_order=True)
    for at, role, line in (
        first.head(_MOST)
        .select(pl.col("at").dt.epoch("us") / 1e6, "role", "message")
        .iter_rows()
    ):
        message, name = _as_one_line(str(line))
        who = "The driver" if role == "driver" else "A worker"
        yield _Earlier(
            at=at,
            name=name,
            text=f"{who} had printed: {short(message, 160)}",
            message=message,
            source="logs",
            headline=f"{who} printed “{short(_LEVEL.sub('', message), 80)}”",
            advice=_advice_on_line(message),
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
    if case.dialect.notices:
        logs = logs.filter(~pl.col("message").str.contains(case.dialect.notices))
    texts = logs.group_by("logger", "message", maintain_order=True).agg(
        pl.col("at").min().dt.epoch("us") / 1e6
    )
    for row in texts.sort("at", "message").head(_MOST).iter_rows(named=True):
        message, name = _as_one_line(row["message"])
        yield _Earlier(
            at=row["at"],
            name=name,
            text=f"{row['logger']} had logged: {short(message, 160)}",
            message=message,
            source="logs",
            headline=f"{row['logger']} logged “{short(message, 80)}”"
            if re.search(_ERROR_WORDS, message)
            else "",
            advice=_advice_on_line(message),
        )


def _as_one_line(message: str) -> tuple[str, str]:
    """Return what was printed as one line, and the class that a traceback in it ends with."""
    first, _, rest = message.partition("\n")
    raised = raised_at_end(rest)
    if raised is None:
        return " ".join(message.split()), ""
    name = class_of(raised[0])
    return f"{first.strip()}: {name}: {raised[1]}".rstrip(": "), name


def _advice_on_line(line: str) -> Advice:
    """Return what a line that was printed of an exception says of retries."""
    raised = _RAISED_IN_LINE.search(line)
    return UNKNOWN if raised is None else advice_on_text(raised["name"], line)
