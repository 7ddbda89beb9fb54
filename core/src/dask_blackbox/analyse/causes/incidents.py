"""What happened in a failed run, as incidents on one clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.causes.kinds import (
    DEATHS,
    KILLED_TASK,
    NO_WORKERS,
    OUTCOME,
    STALL,
)
from dask_blackbox.analyse.side_effects import closings_of_driver
from dask_blackbox.finding import Confidence, Evidence, Finding, Subject

Tie = Literal["is", "waited", "none"]
"""How an incident is tied to the outcome: the driver's exception is it; the driver waited
for it; nothing that was recorded ties them."""

Precedence = Literal["first", "rule", "last"]
"""Whose account it is: a user's rule that knows more than ours, ours, a user's that knows less."""


@dataclass(frozen=True, kw_only=True)
class Incident:
    """Something that happened, and what of it matters to what follows.

    Attributes:
        kind: The slug of the rule that found it, or a fact of the catalogue.
        at: When it began, epoch seconds; None if nothing recorded has a time.
        subject: What it is about.
        strength: How sure it is by its own evidence.
        tie: How it is tied to the outcome.
        precedence: Whose account it is.
        again: Whether it ended each worker of the run, and each of their successors, too.
        finding: What the rule found, if a rule did.
    """

    kind: str
    at: float | None
    subject: Subject = field(default_factory=Subject)
    strength: Confidence = "high"
    tie: Tie = "waited"
    precedence: Precedence = "rule"
    again: bool = False
    finding: Finding | None = None


def incident_of(
    case: Case, finding: Finding, *, precedence: Precedence = "rule"
) -> Incident:
    """Return what a rule found as an incident."""
    by = case.outcome.by if finding.rule == "stopped-by-host" else None
    ended = None if by is None else by.at
    if is_interrupt(case, finding):
        ended = case.outcome.decided_at
    own = (each for each in finding.evidence if each.source != "driver")
    return Incident(
        kind=finding.rule,
        at=min((each.at for each in own if each.at is not None), default=ended),
        subject=finding.subject,
        strength=finding.confidence,
        tie=_tie(case, finding),
        precedence=precedence,
        again=_is_of_every_process(case, finding),
        finding=finding,
    )


def evidence_of_root(finding: Finding) -> tuple[Evidence, ...]:
    """Return what shows an incident: of its own, what is not only the driver's exception."""
    own = tuple(each for each in finding.evidence if each.source != "driver")
    return own or finding.evidence


def is_interrupt(case: Case, finding: Finding) -> bool:
    """Return whether a rule found nothing but that the driver was interrupted."""
    return finding.rule == "cancelled" and case.outcome.kind == "interrupted"


def _is_of_every_process(case: Case, finding: Finding) -> bool:
    """Return whether every worker of the run died of this, and its replacements too."""
    if finding.rule not in DEATHS:
        return False
    names = case.run.workers["name"].unique().to_list()
    died = Counter(d.name for d in case.deaths if case.cause_of(d).slug == finding.rule)
    return bool(names) and all(died[name] > 1 for name in names)


def _tie(case: Case, finding: Finding) -> Tie:
    if finding.rule in ("stopped-by-host", "part-failed"):
        return "is"
    failure = case.blame.failure
    if failure is not None and finding.subject.key == failure.key:
        return "is" if case.blame.proven else "none"
    return "waited" if case.only_waits else "is"


def facts_of(case: Case) -> tuple[Incident, ...]:
    """Return the incidents between causes and the outcome that happened."""
    outcome = Incident(kind=OUTCOME, at=case.outcome.decided_at)
    return (*_killed_task(case), *_no_workers(case), *_stall(case), outcome)


def _killed_task(case: Case) -> Iterator[Incident]:
    failure = case.blame.failure
    if failure is not None and failure.killed:
        subject = Subject(key=failure.key, prefix=failure.prefix)
        yield Incident(kind=KILLED_TASK, at=failure.at, subject=subject)


def _no_workers(case: Case) -> Iterator[Incident]:
    left = case.run.workers["left"]
    hang = case.standstill
    if not len(left) or left.has_nulls() or (hang is not None and hang.workers):
        return
    if hang is None and not case.deaths:
        return
    at = float(left.dt.epoch("us").max() or 0) / 1e6  # type: ignore[arg-type]
    ends = (case.outcome.decided_at, *(each.at for each in closings_of_driver(case)))
    # Workers that leave once the driver closes its cluster are no cause of its end.
    if all(end is None or at <= end for end in ends):
        yield Incident(kind=NO_WORKERS, at=at)


def _stall(case: Case) -> Iterator[Incident]:
    hang = case.standstill
    if hang is not None and hang.wanted:
        yield Incident(kind=STALL, at=hang.since)
