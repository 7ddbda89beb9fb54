"""What had become of the worker that a waiting task asks for, by its resources, name or address."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.causes.earlier.incident import Earlier
from dask_blackbox.analyse.facts.worker_exit import WorkerExit
from dask_blackbox.analyse.restrictions import (
    asks_for,
    still_unrunnable,
    workers_for,
)
from dask_blackbox.analyse.retry_advice import Advice
from dask_blackbox.analyse.rule import read_page
from dask_blackbox.analyse.wording import words_of_placement
from dask_blackbox.analyse.worker_starts import (
    ends_of_commands,
    failed_commands,
)
from dask_blackbox.events import RestrictedTask, WorkerClosing, WorkerRemoved
from dask_blackbox.finding import Finding

_LIFETIME = "worker-lifetime"


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """What a task that no worker could run asks for.

    Attributes:
        task: The task.
        had: Addresses of the workers that could have run it.
        deaths: Those for which no worker has any more what it asks for: a worker that a nanny
            starts again has the same name and resources, but another address.
    """

    task: RestrictedTask
    had: set[str]
    deaths: tuple[WorkerExit, ...]


def _asked(case: Case, verdict: Finding) -> _Asked | None:
    known = () if case.hang is None else case.hang.unrunnable
    if not known and (stuck := still_unrunnable(case)) is not None:
        known = stuck.tasks
    alike = (each for each in known if each.key == verdict.subject.key)
    task = next((each for each in alike if asks_for(each)), None)
    if task is None:
        return None
    had = workers_for(case, task)
    alone = {each.address for each in case.deaths if each.nanny is None}
    gone = had & {*alone, *task.hosts, *task.workers}
    return _Asked(
        task=task,
        had=had,
        deaths=tuple(each for each in case.deaths if each.address in gone),
    )


def deaths_of_asked_workers(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield the death of a worker that had what a task waits for."""
    asked = _asked(case, verdict)
    if asked is None or not asked.deaths:
        return
    death = asked.deaths[-1]
    cause = case.cause_of(death)
    words = words_of_placement.of_death(case, verdict, asked.task.key, death)
    rule = verdict.rule if cause.slug == "unknown" else cause.slug
    advice = read_page(rule)[0].retry_advice
    yield Earlier(
        at=death.at,
        words=words,
        message=words.headline,
        source="workers",
        grade="given",
        sure=cause.confidence,
        rule=rule,
        advice=Advice(advice, verdict.retry_confidence),
    )


def departures_of_asked_workers(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield the orderly departure of the last worker that had what a task waits for."""
    asked = _asked(case, verdict)
    if asked is None or asked.deaths:
        return
    closings = case.run.of(WorkerClosing)
    ended = {e.subject for e in closings if (e.reason or "").startswith(_LIFETIME)}
    left = [
        each
        for each in case.run.of(WorkerRemoved)
        if each.subject in asked.had
        and (each.expected or each.subject in ended)
        and not case.outcome.is_after(each.at)
    ]
    if not left or asked.had - {each.subject for each in left}:
        return
    last = max(left, key=lambda each: each.at)
    lifetime = last.subject in ended
    words = words_of_placement.of_departure(
        case, verdict, asked.task.key, last, lifetime=lifetime
    )
    yield Earlier(
        at=last.at,
        words=words,
        message=words.text.rstrip("."),
        source="events",
        grade="given",
        rule=_LIFETIME if lifetime else "",
    )


def failed_starts_of_asked_workers(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield the end of the command that was to start a worker with what a task waits for.

    One that offers what the task asks for: the driver gave it that name, or these resources.
    """
    asked, ended = _asked(case, verdict), next(ends_of_commands(case), None)
    if asked is None or asked.had or ended is None or not _offered(case, asked.task):
        return
    printed = case.output_evidence(ended, words_of_placement.OR_ITS_PROGRAMS)
    words = words_of_placement.of_failed_start(
        verdict, asks_for(asked.task), ended, printed.text
    )
    yield Earlier(
        at=ended.at,
        words=words,
        message=words.headline,
        source=printed.source,
        see=printed.see,
        grade="given",
        rule="worker-start-failed",
    )


def _offered(case: Case, task: RestrictedTask) -> bool:
    """Return whether a command that failed was to start a worker with what a task asks for."""
    words = [f"{name}=" for name in task.resources]
    words = words or [f"--name {name}" for name in task.workers]
    failed = [each.command for each in failed_commands(case) if (each.code or 0) > 0]
    # What a command printed does not say which one it was, if several failed.
    offers = [all(word in command for word in words) for command in failed]
    return bool(words and offers) and all(offers)
