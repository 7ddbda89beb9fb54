"""What had become of the worker that a waiting task asks for, by its resources, name or address."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.causes.earlier.incident import Earlier
from dask_blackbox.analyse.death_texts import how_died
from dask_blackbox.analyse.exit_causes import lifetime_of
from dask_blackbox.analyse.explanations import hint_on, printed_error
from dask_blackbox.analyse.facts.worker_exit import WorkerExit
from dask_blackbox.analyse.restrictions import (
    asks_for,
    still_unrunnable,
    workers_for,
)
from dask_blackbox.analyse.retry_advice import Advice
from dask_blackbox.analyse.rule import read_page
from dask_blackbox.analyse.side_effects import how_retired
from dask_blackbox.analyse.worker_starts import (
    ends_of_commands,
    failed_commands,
    port_text,
)
from dask_blackbox.events import RestrictedTask, WorkerClosing, WorkerRemoved
from dask_blackbox.finding import Finding
from dask_blackbox.formatting import capital, quoted, short

_LIFETIME = "worker-lifetime"
_UNRUN = "No worker could run that task"
_LIVE_LONGER = (
    "Give that worker a `--lifetime` that is longer than the work that only it can do, or "
    "`--lifetime-restart`, so that it comes back."
)
_KEEP_IT = (
    "Keep that worker until its tasks are done, or ask for something that other workers have, "
    "too."
)


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """What a task that no worker could run asks for.

    Attributes:
        task: The task.
        who: The worker, as the subject of a sentence.
        had: Addresses of the workers that could have run it.
        deaths: Those for which no worker has any more what it asks for: a worker that a nanny
            starts again has the same name and resources, but another address.
    """

    task: RestrictedTask
    who: str
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
        who=f"The worker that '{short(case.prefix_of(task.key), 40)}' asks for",
        had=had,
        deaths=tuple(each for each in case.deaths if each.address in gone),
    )


def deaths_of_asked_workers(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield the death of a worker that had what a task waits for."""
    asked = _asked(case, verdict)
    if asked is None or not asked.deaths:
        return
    death = asked.deaths[-1]
    cause, how = case.cause_of(death), how_died(case, [death])
    prefixes = dict.fromkeys(case.prefix_of(each) for each in death.executing)
    running = f" while running {quoted(prefixes)}" if prefixes else ""
    headline = f"{asked.who} died{how}{running}"
    rule = verdict.rule if cause.slug == "unknown" else cause.slug
    advice = read_page(rule)[0].retry_advice
    yield Earlier(
        at=death.at,
        text=f"{headline}: {cause.because}",
        message=headline,
        source="workers",
        headline=headline,
        grade="given",
        sure=cause.confidence,
        rule=rule,
        effect=_UNRUN,
        advice=Advice(advice, verdict.retry_confidence),
        account=f"{verdict.cause} That worker had died{how}{running}: {cause.because}.",
        fix=(
            "Find out first why that worker died. It had no nanny; with one, it would have been "
            f"started again, with the same resources. {verdict.remedy}"
            if death.nanny is None
            else "Find out first why that worker died. Its nanny started it again at another "
            "address: ask for workers by name (`dask worker --name`, in a `LocalCluster` 0, 1, "
            "and so on), which stays the same."
        ),
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
    how = f"was {how_retired(case, last)}"
    rule, fix = "", f"{_KEEP_IT} {verdict.remedy}"
    if last.subject in ended:
        how = f"left at the end of its lifetime{lifetime_of(case.run, last.subject)}"
        rule, fix = _LIFETIME, _LIVE_LONGER
    name = capital(case.name_of(last.subject))
    yield Earlier(
        at=last.at,
        text=f"{name} {how}.",
        message=f"{name} {how}",
        source="events",
        headline=f"{asked.who} {how}",
        grade="given",
        rule=rule,
        effect=_UNRUN,
        account=f"{verdict.cause} {name} {how}, and was not replaced.",
        fix=fix,
    )


def failed_starts_of_asked_workers(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield the end of the command that was to start a worker with what a task waits for.

    One that offers what the task asks for: the driver gave it that name, or these resources.
    """
    asked, ended = _asked(case, verdict), next(ends_of_commands(case), None)
    if asked is None or asked.had or ended is None or not _offered(case, asked.task):
        return
    printed = case.output_evidence(ended, " or that of its programs")
    what = short(asks_for(asked.task), 50)
    headline = f"A worker with {what} failed to start: {printed_error(ended)}"
    yield Earlier(
        at=ended.at,
        text=printed.text,
        message=headline,
        source=printed.source,
        see=printed.see,
        headline=headline,
        grade="given",
        rule="worker-start-failed",
        account=f"{verdict.cause} The command that was to start such a worker had ended: "
        f"{short(ended.text, 240).rstrip('.')}.{port_text(ended.message, 'worker')}",
        fix=f"Correct how the run starts that worker. {hint_on(ended.text) or ''}".rstrip(),
    )


def _offered(case: Case, task: RestrictedTask) -> bool:
    """Return whether a command that failed was to start a worker with what a task asks for."""
    words = [f"{name}=" for name in task.resources]
    words = words or [f"--name {name}" for name in task.workers]
    failed = [each.command for each in failed_commands(case) if (each.code or 0) > 0]
    # What a command printed does not say which one it was, if several failed.
    offers = [all(word in command for word in words) for command in failed]
    return bool(words and offers) and all(offers)
