"""Which candidate is the root of the chain that leads to the outcome.

Not found depends on the order in which rules were asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf

import msgspec

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.causes.choice import with_first_cause
from dask_blackbox.analyse.causes.incidents import Incident
from dask_blackbox.analyse.causes.kinds import OF_THE_DRIVER
from dask_blackbox.analyse.causes.links import EXPLAINS, LINKS, Link
from dask_blackbox.analyse.causes.telling import with_end
from dask_blackbox.analyse.signatures.distributed import SCHEDULER_CONNECTION_LOST
from dask_blackbox.analyse.wording import words_of_verdict
from dask_blackbox.finding import Confidence, Finding
from dask_blackbox.guard import guard

_SURE: tuple[Confidence, ...] = ("low", "medium", "high")
_TIES = ("none", "waited", "is")
_PRECEDENCES = ("last", "rule", "first")


@dataclass(frozen=True, kw_only=True)
class Rejected:
    """A candidate that is not the root.

    Attributes:
        finding: What its rule found.
        because: Why it is not the root.
        same: The verdict describes the same incident.
    """

    finding: Finding
    because: str
    same: bool = False


@dataclass(frozen=True, kw_only=True)
class Resolution:
    """What came of the candidates.

    Attributes:
        verdict: The root; None if there was no candidate.
        rejected: All others, by kind.
    """

    verdict: Finding | None = None
    rejected: tuple[Rejected, ...] = ()


def resolve(case: Case, candidates: Iterable[Incident]) -> Resolution:
    """Return the root among the candidates, and why each of the others is not."""
    known, late = _by_time(case, candidates)
    above = {id(each): _above(each, known) for each in known}
    roots = [each for each in known if not above[id(each)]]
    too_late = [_rejected(each, words_of_verdict.LATE) for each in late]
    if not roots:
        return Resolution(rejected=tuple(too_late))
    root, *rivals = sorted(roots, key=_root_order)
    equal = [
        each
        for each in rivals
        if (each.tie, each.strength) == (root.tie, root.strength)
    ]
    rejected = [
        *too_late,
        *(_rejected(e, _why_outweighed(e, root, equal=e in equal)) for e in rivals),
        *(_as_effect(each, root, above[id(each)]) for each in known if above[id(each)]),
    ]
    assert root.finding is not None  # noqa: S101 - candidates are what rules found
    verdict = root.finding
    if equal:
        lower = _SURE[max(_SURE.index(root.strength) - 1, 0)]
        verdict = msgspec.structs.replace(verdict, confidence=lower)
    return Resolution(verdict=_rooted(case, verdict), rejected=tuple(rejected))


def _by_time(
    case: Case, candidates: Iterable[Incident]
) -> tuple[list[Incident], list[Incident]]:
    """Return the candidates, and those that came too late to be the cause.

    These explain none of the others away.
    """
    given = sorted(candidates, key=lambda each: each.kind)
    late = [each for each in given if _is_later(case, each)]
    known = [each for each in given if each not in late]
    # A run that failed has a verdict, whatever the clocks say.
    return (known, late) if known else (late, [])


def _above(effect: Incident, known: Iterable[Incident]) -> list[tuple[Incident, str]]:
    """Return the candidates that explain another one, and how."""
    ways = ((each, _comes_first(each, effect)) for each in known if each is not effect)
    return [(each, how) for each, how in ways if how is not None]


def _rooted(case: Case, verdict: Finding) -> Finding:
    """Return a verdict with what led to it, and how the run then ended."""
    found = [verdict]
    with guard("what had failed before the verdict"):
        found.append(with_end(case, with_first_cause(case, verdict)))
    return found[-1]


def linked(cause: Incident, effect: Incident) -> Link | None:
    """Return the row by which one incident can bring about the other, if there is one."""
    how = next(
        (row for row in LINKS if row.find is None and _fits(row, cause, effect)), None
    )
    if how is None or not (how.once and cause.again):
        return how
    because = words_of_verdict.OF_EVERY_PROCESS
    return replace(how, survived=False, because=because)


def _fits(how: Link, cause: Incident, effect: Incident) -> bool:
    if cause.kind not in how.causes or effect.kind not in how.effects:
        return False
    if how.on == "task" and cause.subject.key != effect.subject.key:
        return False
    if how.on == "worker" and cause.subject.worker != effect.subject.worker:
        return False
    if how.same or cause.at is None or effect.at is None:
        return True
    return how.within == inf or -how.before <= effect.at - cause.at <= how.within


def _comes_first(cause: Incident, effect: Incident) -> str | None:
    """Return why the second of two candidates is not the root if the first is known."""
    ranks = [_PRECEDENCES.index(each.precedence) for each in (cause, effect)]
    if ranks[0] != ranks[1] and "unknown" not in (cause.kind, effect.kind):
        return words_of_verdict.SPECIFIC if ranks[0] > ranks[1] else None
    how, back = linked(cause, effect), linked(effect, cause)
    if back is not None and back.survived:
        return back.because
    return None if how is None or how.survived else how.because


def _is_later(case: Case, incident: Incident) -> bool:
    """Return whether something began only after the outcome: then it cannot be its cause.

    What the driver itself raised did not, whatever the clocks of the others say; nor did its
    exit, which comes a moment after the signal that it was sent.
    """
    if incident.tie == "is" or incident.kind in OF_THE_DRIVER or incident.at is None:
        return False
    # What Dask had reported to the driver, the recorder may have noticed later.
    if incident.kind == "scheduler-lost" and _was_reported(incident):
        return False
    return case.outcome.is_after(incident.at)


def _was_reported(incident: Incident) -> bool:
    """Return whether an exception in the driver says that the scheduler was lost."""
    facts = () if incident.finding is None else incident.finding.evidence
    return any(
        each.source == "driver" and SCHEDULER_CONNECTION_LOST.search(each.text)
        for each in facts
    )


def _root_order(incident: Incident) -> tuple[int, int, float, str]:
    """Return what roots are sorted by: their tie, their strength; then the earliest."""
    return (
        -_TIES.index(incident.tie),
        -_SURE.index(incident.strength),
        incident.at if incident.at is not None else inf,
        incident.kind,
    )


def _rejected(incident: Incident, because: str, *, same: bool = False) -> Rejected:
    assert incident.finding is not None  # noqa: S101 - candidates are what rules found
    return Rejected(finding=incident.finding, because=because, same=same)


def _why_outweighed(rival: Incident, root: Incident, *, equal: bool) -> str:
    assert root.finding is not None  # noqa: S101 - candidates are what rules found
    if equal:
        return words_of_verdict.as_likely(root.finding)
    if rival.tie == root.tie:
        return words_of_verdict.weaker(root.finding)
    if root.tie == "is":
        return words_of_verdict.not_raised(root.finding)
    return words_of_verdict.not_waited_for(root.finding)


def _as_effect(
    effect: Incident, root: Incident, above: list[tuple[Incident, str]]
) -> Rejected:
    """Return why an effect is not the root: by the root itself, if that links to it."""
    cause, because = next((pair for pair in above if pair[0] is root), above[0])
    how = linked(cause, effect)
    return _rejected(effect, because, same=how is not None and how.same)


def unexplained(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings without those that follow from another one."""

    def explained(effect: Finding) -> bool:
        return any(
            how
            for cause in findings
            if cause is not effect
            for how in EXPLAINS
            if cause.rule in how.causes
            and effect.rule in how.effects
            and (how.on != "task" or _same_task(cause, effect))
        )

    return [
        each for each in findings if each.severity == "failure" or not explained(each)
    ]


def _same_task(cause: Finding, effect: Finding) -> bool:
    return cause.severity == "failure" and cause.subject.key == effect.subject.key
