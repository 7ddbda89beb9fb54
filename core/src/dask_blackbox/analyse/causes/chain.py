"""The steps from the root to the outcome: `chain` of the card."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

import msgspec

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.causes.incidents import (
    Incident,
    end_of_run,
    facts_of,
    incident_of,
    is_interrupt,
)
from dask_blackbox.analyse.causes.kinds import DEATHS, OF_THE_DRIVER, OUTCOME
from dask_blackbox.analyse.causes.resolution import linked
from dask_blackbox.analyse.exit_causes import ExitCause
from dask_blackbox.analyse.facts.worker_exit import WorkerExit
from dask_blackbox.analyse.missing_modules import missing_module
from dask_blackbox.analyse.signals import signal_in
from dask_blackbox.analyse.title import own_title
from dask_blackbox.analyse.worker_memory import (
    memory_need,
    retained_memory_of,
    startup_memory_of,
)
from dask_blackbox.finding import (
    ChainStep,
    Change,
    Evidence,
    Finding,
    Subject,
    unusual,
)
from dask_blackbox.formatting import capital, class_of, counted, short, size
from dask_blackbox.patterns import bounded

_MOST = 6
_APART = 1.0  # seconds by which the clocks of two processes may differ

_NUMBER = bounded(r"(?P<number>[\d,.]+) ?(?P<unit>[kKMGTP]?i?B\b)?")
_LIMITS = ("worker-memory-limit", "kernel-oom")
_ENDED = {
    "kernel-oom": "was killed by the kernel's OOM killer",
    "worker-abort": "aborted",
    "worker-cancelled": "was ended: its job was cancelled, or its pod deleted",
    "worker-evicted": "was ended: its pod was evicted",
    "worker-heartbeat-timeout": "sent no heartbeats and was removed",
    "worker-host-lost": "disappeared together with its nanny",
    "worker-job-memory": "was killed: its job or pod used too much memory",
    "worker-lifetime": "reached the end of its lifetime",
    "worker-memory-limit": "was killed at its memory limit",
    "worker-node-failed": "was lost: its node failed",
    "worker-preempted": "was terminated by its host",
    "worker-segfault": "crashed",
    "worker-time-limit": "was ended at the time limit of its job or pod",
}
"""What a worker did that ended of a cause, where the cause says it."""


def chain_of(
    case: Case, verdict: Finding | None, changes: Sequence[Change] = ()
) -> tuple[ChainStep, ...]:
    """Return the steps that lead to the outcome, the last one; none if nothing failed.

    Args:
        changes: What changed since the last good run, the most telling first.
    """
    if verdict is None or not case.failed:
        return ()
    root = incident_of(case, _without_other_steps(verdict))
    root = replace(root, at=_raised_at(case, verdict) or root.at)
    facts = facts_of(case)
    outcome = facts[-1]
    path = _longest_path(root, facts)
    if (
        verdict.rule in OF_THE_DRIVER
        or is_interrupt(case, verdict)
        or _raised_by_driver(case, root)
    ):
        path[-1] = replace(outcome, text=end_of_run(case))
    before = [*_changes(case, changes), *_before(case, verdict)]
    steps = [*before, *_steps(case, verdict, path[0]), *map(_step, path[1:])]
    return _in_time(_merged(steps), outcome.at)


def _raised_by_driver(case: Case, root: Incident) -> bool:
    """Return whether a step already names the driver's exception."""
    exception = case.exception
    if exception is None:
        return False
    return root.text.startswith(f"{class_of(exception.exception)} in the driver")


def _raised_at(case: Case, verdict: Finding) -> float | None:
    """Return when the task of a verdict raised; None: the verdict is about something else.

    Evidence of what had failed before is earlier, and does not say when this happened.
    """
    failure = case.blame.failure
    is_its_task = failure is not None and verdict.subject.key == failure.key
    if verdict.rule != "task-exception" or failure is None or not is_its_task:
        return None
    return None if failure.killed else failure.at


def _without_other_steps(verdict: Finding) -> Finding:
    """Return a verdict without what it follows from, and how the run ended: steps of their own.

    The evidence of the first is earlier, and does not say when this happened.
    """
    earlier = [evidence for step in verdict.before for evidence in step.evidence]
    return msgspec.structs.replace(
        verdict,
        title=own_title(verdict),
        evidence=tuple(each for each in verdict.evidence if each not in earlier),
    )


def _longest_path(root: Incident, facts: Sequence[Incident]) -> list[Incident]:
    """Return the longest way from an incident to the outcome, through what it can bring about."""
    ways = [
        [root, *_longest_path(fact, [each for each in facts if each is not fact])]
        for fact in facts
        if fact.kind != OUTCOME and _causes(root, fact)
    ]
    return max(ways, key=len, default=[root, facts[-1]])


def _causes(cause: Incident, effect: Incident) -> bool:
    if linked(cause, effect) is None:
        return False
    return cause.at is None or effect.at is None or cause.at <= effect.at


def _changes(case: Case, changes: Sequence[Change]) -> Iterator[ChainStep]:
    """Yield the change that fits the verdict, if it is an unusual one."""
    fits = next((each for each in unusual(changes) if each.why), None)
    if fits is None:
        return
    yield ChainStep(at=case.run.manifest.started, text=_change(fits))


def _change(change: Change) -> str:
    """Return a change in a few words: `input 3.4 times larger (…)`."""
    before, after = change.before or "absent", change.after or "absent"
    sides = f"{short(before, 40)} → {short(after, 40)}"
    if change.kind == "code":
        # A commit only says that something changed: what it explains says what.
        of_commit = change.what == "git commit" and change.explains
        named = change.explains[0] if of_commit else change
        _, _, places = (named.after or "").partition(" (")
        where = f" ({short(places.removesuffix(')'), 80)})" if places else ""
        return f"code of {short(named.what, 60)} changed{where}"
    if change.kind != "input-size":
        return f"{change.kind} {short(change.what, 60)}: {sides}"
    numbers = [_NUMBER.match(side) for side in (before, after)]
    old, new = (_amount(each) if each else 0.0 for each in numbers)
    if min(old, new) <= 0:
        return f"input {sides}"
    more = (
        f"{new / old:.1f}\N{MULTIPLICATION SIGN} larger"
        if new > old
        else f"{old / new:.1f}\N{MULTIPLICATION SIGN} smaller"
    )
    return f"input {more} ({sides})"


def _amount(found: re.Match[str]) -> float:
    """Return a size in bytes, or a number of partitions."""
    from dask.utils import parse_bytes  # imports all of dask

    number = found["number"].replace(",", "")
    return float(parse_bytes(f"{number}{found['unit'] or ''}"))


def _before(case: Case, verdict: Finding) -> Iterator[ChainStep]:
    """Yield what caused the root but is no verdict itself."""
    yield from verdict.before
    deaths = tuple(d for d in case.deaths if _brought_about(case, d, verdict))
    if deaths:
        yield from map(_step, _ended(case, deaths))


def _brought_about(case: Case, death: WorkerExit, verdict: Finding) -> bool:
    died = Incident(
        kind=case.cause_of(death).slug,
        at=death.at,
        text="",
        subject=Subject(worker=death.address),
    )
    how = linked(died, incident_of(case, verdict))
    if how is None or not how.survived or case.outcome.is_after(death.at):
        return False
    # Any worker may have been the one, so that the verdict itself must say that one was.
    return how.on == "worker" or any(e.source == "workers" for e in verdict.evidence)


def _steps(case: Case, verdict: Finding, root: Incident) -> Iterator[ChainStep]:
    """Yield the root: death by death where workers died, else in its own words."""
    # A death that came before is a step already, and this is what it led to.
    died = verdict.rule in DEATHS and not verdict.before
    deaths = case.blame.deaths if died else ()
    if not deaths or case.blame.cause not in DEATHS:
        yield _step(root)
        return
    yield from _need(case, verdict, deaths)
    yield from map(_step, _ended(case, deaths))


def _need(
    case: Case, verdict: Finding, deaths: tuple[WorkerExit, ...]
) -> Iterator[ChainStep]:
    """Yield what used the memory of workers that ran out of it."""
    if verdict.retry_advice != "memory" or case.blame.cause not in _LIMITS:
        return
    text = _what_took_memory(case, verdict.subject.prefix, deaths)
    if text:
        yield ChainStep(
            at=min(death.at for death in deaths),
            text=text,
            subject=Subject(prefix=verdict.subject.prefix),
        )


def _what_took_memory(
    case: Case, prefix: str | None, deaths: tuple[WorkerExit, ...]
) -> str | None:
    need = memory_need(case, deaths)
    # Dask's own limit was reached; the kernel's was somewhere above what was sampled.
    own = case.blame.cause == "worker-memory-limit"
    had = (need.limit if own else None) or need.seen
    if not had:
        return None
    used = f"over {size(had)}" if own else f"{size(had)} or more"
    if need.held:
        return f"results took {size(need.held)} or more of {size(had)} on each worker"
    used_before = _used_before(case, deaths, had)
    if used_before:
        return used_before
    if need.at_once > 1:
        return f"{need.at_once} tasks at once needed {used}"
    number = len(need.too_large)
    if prefix and number > 1:
        return f"{number} tasks of '{short(prefix, 40)}' needed {used} each"
    who = f"one task of '{short(prefix, 40)}'" if prefix else "a worker"
    return f"{who} needed {used}"


def _used_before(case: Case, deaths: tuple[WorkerExit, ...], limit: int) -> str | None:
    """Return what had used the memory before the tasks that ran at the end, if that is known."""
    retained = retained_memory_of(case, deaths[-1])
    if retained:
        return (
            f"{counted(retained.tasks, 'task')} retained {size(retained.kept)} or more"
        )
    early = startup_memory_of(case, deaths)
    if early:
        return (
            f"a worker used {size(early.used)} of {size(limit)} before its first task"
        )
    return None


def _ended(case: Case, deaths: Sequence[WorkerExit]) -> Iterator[Incident]:
    alone = len({death.address for death in deaths}) == 1
    for death in sorted(deaths, key=lambda each: each.at):
        cause = case.cause_of(death)
        who = f"worker {death.name}" if death.name and alone else "a worker"
        did = _by_whom(death) or _ENDED.get(cause.slug) or _how_it_ended(death, cause)
        yield Incident(
            kind=cause.slug,
            at=death.at,
            text=f"{who} {did}",
            subject=Subject(worker=death.address),
            evidence=(
                Evidence(
                    text=f"{case.name_of(death.address)}: {cause.because}.",
                    source="workers",
                    at=death.at,
                ),
            ),
        )


def _by_whom(death: WorkerExit) -> str | None:
    """Return what ended a worker, where neither Dask, its host nor the worker itself did."""
    if death.frozen_for is not None and (death.stopper or death.was_stopped):
        by = f" by {death.stopper}" if death.stopper else ""
        return f"was stopped{by} (SIGSTOP), sent no heartbeats and was removed"
    asked = signal_in(death.closing)
    name = asked or death.signal
    if death.sent_from is not None and name:
        return f"was ended by {death.sender} ({name})"
    if asked and asked != "SIGTERM":
        return f"was stopped from outside ({asked})"
    return None


def _how_it_ended(death: WorkerExit, cause: ExitCause) -> str:
    module = missing_module(cause.because)
    if module is not None:
        return f"could not import '{short(module, 40)}' and closed"
    if cause.slug == "environment-mismatch" and death.signal is None:
        return "could not deserialize a message and closed"
    if death.signal is not None:
        return f"was ended by {death.signal}"
    if death.exit_code is not None:
        return f"exited with code {death.exit_code}"
    return "exited"


def _step(incident: Incident) -> ChainStep:
    return ChainStep(
        at=incident.at,
        text=incident.text,
        subject=incident.subject,
        evidence=incident.evidence,
    )


def _merged(steps: Sequence[ChainStep]) -> list[ChainStep]:
    """Return steps with equal consecutive ones as one, and how often it happened."""
    merged = []
    for text, alike in groupby(steps, key=lambda each: each.text):
        first, *more = alike
        times = f"{text}, {counted(len(more) + 1, 'time')}" if more else text
        evidence = (*first.evidence, *(e for each in more for e in each.evidence))
        merged.append(msgspec.structs.replace(first, text=times, evidence=evidence[:4]))
    return merged


def _in_time(steps: Sequence[ChainStep], ended: float | None) -> tuple[ChainStep, ...]:
    """Return at most six steps, none of them later than the one that it leads to."""
    if len(steps) > _MOST:
        steps = [*steps[: _MOST - 2], *steps[-2:]]
    ordered: list[ChainStep] = []
    latest = ended
    for step in reversed(steps):
        at = latest if step.at is None else step.at
        if at is not None and latest is not None and at - latest < _APART:
            at = min(at, latest)
        latest = at
        ordered.append(msgspec.structs.replace(step, at=at, text=capital(step.text)))
    return tuple(reversed(ordered))
