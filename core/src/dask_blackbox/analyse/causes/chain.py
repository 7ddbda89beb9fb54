"""The steps from the root to the outcome: `chain` of the card."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

import msgspec

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.causes.incidents import (
    Incident,
    evidence_of_root,
    facts_of,
    incident_of,
    is_interrupt,
)
from dask_blackbox.analyse.causes.kinds import (
    DEATHS,
    KILLED_TASK,
    NO_WORKERS,
    OF_THE_DRIVER,
    OUTCOME,
    STALL,
)
from dask_blackbox.analyse.causes.resolution import linked
from dask_blackbox.analyse.facts.worker_exit import WorkerExit
from dask_blackbox.analyse.title import own_title
from dask_blackbox.analyse.wording import words_of_steps
from dask_blackbox.finding import (
    ChainStep,
    Change,
    Finding,
    Subject,
)
from dask_blackbox.formatting import capital

_MOST = 6
_APART = 1.0  # seconds by which the clocks of two processes may differ

_LIMITS = ("worker-memory-limit", "kernel-oom")


def chain_of(
    case: Case, verdict: Finding | None, change: Change | None = None
) -> tuple[ChainStep, ...]:
    """Return the steps that lead to the outcome, the last one; none if nothing failed.

    Args:
        change: What the verdict follows from, of what changed since the last good run.
    """
    if verdict is None or not case.failed:
        return ()
    own = _without_other_steps(verdict)
    root = incident_of(case, own)
    root = replace(root, at=_raised_at(case, verdict) or root.at)
    *path, outcome = _longest_path(root, facts_of(case))
    last = _step_of_fact(case, outcome)
    if (
        verdict.rule in OF_THE_DRIVER
        or is_interrupt(case, verdict)
        or _raised_by_driver(case, own)
    ):
        last = msgspec.structs.replace(last, text=words_of_steps.end_of_run(case))
    steps = [
        *_changed(case, change),
        *_before(case, verdict),
        *_steps(case, verdict, root),
        *(_step_of_fact(case, fact) for fact in path[1:]),
        last,
    ]
    return _in_time(_merged(steps), outcome.at)


def _raised_by_driver(case: Case, verdict: Finding) -> bool:
    """Return whether a step already names the driver's exception."""
    exception = case.exception
    return exception is not None and verdict.title.startswith(
        words_of_steps.raised_in_driver(exception)
    )


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


def _changed(case: Case, change: Change | None) -> Iterator[ChainStep]:
    """Yield the change that the verdict follows from, as "what changed" names it."""
    if change is not None:
        text = words_of_steps.of_change(change)
        yield ChainStep(at=case.run.manifest.started, text=text)


def _before(case: Case, verdict: Finding) -> Iterator[ChainStep]:
    """Yield what caused the root but is no verdict itself."""
    yield from verdict.before
    deaths = tuple(d for d in case.deaths if _brought_about(case, d, verdict))
    yield from _ended(case, deaths)


def _brought_about(case: Case, death: WorkerExit, verdict: Finding) -> bool:
    died = Incident(
        kind=case.cause_of(death).slug,
        at=death.at,
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
    if deaths and case.blame.cause in DEATHS:
        yield from _need(case, verdict, deaths)
        yield from _ended(case, deaths)
    elif root.finding is not None:
        yield ChainStep(
            at=root.at,
            text=root.finding.title,
            subject=root.subject,
            evidence=evidence_of_root(root.finding)[:1],
        )


def _need(
    case: Case, verdict: Finding, deaths: tuple[WorkerExit, ...]
) -> Iterator[ChainStep]:
    """Yield what used the memory of workers that ran out of it."""
    if verdict.retry_advice != "memory" or case.blame.cause not in _LIMITS:
        return
    prefix = verdict.subject.prefix
    text = words_of_steps.what_took_memory(case, prefix, deaths)
    if text:
        at = min(death.at for death in deaths)
        yield ChainStep(at=at, text=text, subject=Subject(prefix=prefix))


def _ended(case: Case, deaths: Sequence[WorkerExit]) -> Iterator[ChainStep]:
    alone = len({death.address for death in deaths}) == 1
    for death in sorted(deaths, key=lambda each: each.at):
        text, evidence = words_of_steps.of_death(case, death, alone=alone)
        yield ChainStep(
            at=death.at,
            text=text,
            subject=Subject(worker=death.address),
            evidence=evidence,
        )


_OF_FACTS = {
    KILLED_TASK: words_of_steps.of_killed_task,
    NO_WORKERS: words_of_steps.of_no_workers,
    STALL: words_of_steps.of_stall,
    OUTCOME: words_of_steps.of_outcome,
}


def _step_of_fact(case: Case, fact: Incident) -> ChainStep:
    text, evidence = _OF_FACTS[fact.kind](case)
    return ChainStep(at=fact.at, text=text, subject=fact.subject, evidence=evidence)


def _merged(steps: Sequence[ChainStep]) -> list[ChainStep]:
    """Return steps with equal consecutive ones as one, and how often it happened."""
    merged = []
    for text, alike in groupby(steps, key=lambda each: each.text):
        first, *more = alike
        text = words_of_steps.times(text, len(more) + 1)  # noqa: PLW2901
        evidence = (*first.evidence, *(e for each in more for e in each.evidence))
        merged.append(msgspec.structs.replace(first, text=text, evidence=evidence[:4]))
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
