"""A verdict in words with what led to it, and with how the run then ended."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.causes.earlier.incident import Earlier
from dask_blackbox.analyse.exception_context import end_after_handled_errors
from dask_blackbox.analyse.frames import user_frame
from dask_blackbox.analyse.retry_advice import UNKNOWN, Advice
from dask_blackbox.analyse.signatures.python import NO_SPACE_LEFT, OPEN_FILES_EXHAUSTED
from dask_blackbox.finding import (
    ChainStep,
    Evidence,
    Finding,
    Subject,
    lowest_confidence,
)
from dask_blackbox.formatting import class_of, code_line, uncapitalised

_EXHAUSTED_RULES = (
    (OPEN_FILES_EXHAUSTED, "too-many-open-files"),
    (NO_SPACE_LEFT, "disk-full"),
)
"""Of these, what has a name of its own."""


def with_evidence(verdict: Finding, found: Sequence[Earlier]) -> Finding:
    """Return a verdict with evidence on what came before it, and as sure as that lets it be."""
    sure = verdict.confidence
    if any(each.grade != "certain" for each in found):
        sure = lowest_confidence("medium", sure)
    evidence = (*verdict.evidence, *_evidence_of(found))
    if any(each.account for each in found):  # the reason is shown first
        evidence = (*_evidence_of(found), *verdict.evidence)
    return msgspec.structs.replace(verdict, confidence=sure, evidence=evidence)


def _evidence_of(found: Sequence[Earlier]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(text=each.text, source=each.source, at=each.at, see=each.see)
        for each in found
        if each.source
    )


def led_by(
    case: Case, earlier: Earlier, verdict: Finding, shown: Sequence[Earlier]
) -> Finding:
    """Return a verdict with what led to it.

    Args:
        case: The run.
        earlier: What led to it.
        verdict: The verdict.
        shown: What becomes its evidence.
    """
    if earlier.grade == "given":
        return _given(earlier, verdict)
    rule, subject = _rule_and_subject(earlier, verdict)
    verdict = with_evidence(verdict, shown)
    if not earlier.headline:
        return msgspec.structs.replace(
            verdict,
            cause=f"{verdict.cause} {earlier.text}",
            remedy=f"{earlier.fix} {verdict.remedy}".lstrip(),
        )
    return msgspec.structs.replace(
        verdict,
        rule=rule,
        subject=subject,
        cause=_cause(earlier, verdict),
        remedy=earlier.fix or _look_first(case, earlier),
        worker_memory=None,
        before=(_step(earlier, shown), *earlier.then, *verdict.before),
        retry_advice=earlier.advice.advice,
        retry_confidence=earlier.advice.confidence,
    )


def _given(earlier: Earlier, verdict: Finding) -> Finding:
    """Return a verdict with the reason that it already gives, or that an identity gives it."""
    reason = _evidence_of([earlier]) if earlier.account else ()
    own = Advice(verdict.retry_advice, verdict.retry_confidence)
    advice, sure = own if earlier.advice == UNKNOWN else earlier.advice
    return msgspec.structs.replace(
        verdict,
        rule=earlier.rule or verdict.rule,
        title=earlier.effect or verdict.title,
        cause=earlier.account or verdict.cause,
        remedy=earlier.fix or verdict.remedy,
        confidence=lowest_confidence(verdict.confidence, earlier.sure),
        retry_advice=advice,
        retry_confidence=sure,
        evidence=(*reason, *verdict.evidence),
        before=(_step(earlier, [earlier]), *verdict.before),
    )


def _step(earlier: Earlier, shown: Sequence[Earlier]) -> ChainStep:
    return ChainStep(at=earlier.at, text=earlier.headline, evidence=_evidence_of(shown))


def _cause(earlier: Earlier, verdict: Finding) -> str:
    if earlier.account:
        return f"{earlier.account} {verdict.cause}"
    because = earlier.because or (
        "The job continued, and the later failure may be a consequence."
    )
    return f"{verdict.cause} Before that, {uncapitalised(earlier.text)}. {because}"


def _rule_and_subject(earlier: Earlier, verdict: Finding) -> tuple[str, Subject]:
    """Return what a verdict is then about."""
    if earlier.root is not None:
        return earlier.rule or "task-exception", earlier.root.subject
    rule = earlier.rule or _exhausted(earlier.message)
    if rule is None:
        return verdict.rule, verdict.subject
    return rule, earlier.subject or verdict.subject


def _exhausted(message: str) -> str | None:
    """Return the rule of a resource that was used up, if a text says so."""
    return next((rule for said, rule in _EXHAUSTED_RULES if said.search(message)), None)


def _look_first(case: Case, earlier: Earlier) -> str:
    """Return the remedy: what would fix the consequence (a retry, say) does not help here."""
    failure, exception = case.blame.failure, case.exception
    frame = None if failure is None else failure.frame
    if failure is None and exception is not None:
        frame = user_frame(exception.traceback)
    at = f" at {earlier.line}" if earlier.line else ""
    ended = f", at {code_line(frame)}," if frame is not None else ""
    return (
        f"Start with the earlier failure: {uncapitalised(earlier.headline)}{at}. What then ended the run{ended} is "
        f"probably its consequence. {earlier.remedy}"
    ).rstrip()


def with_end(case: Case, verdict: Finding) -> Finding:
    """Return a verdict on an error that the driver had handled, with how it then ended.

    That one led to the other is read from the code, name by name: probable, and no proof.
    """
    reason, end = case.outcome.reason, end_after_handled_errors(case)
    if reason is None:
        return verdict
    place = code_line(reason, " at ", name_only=True)
    name = class_of(reason.exception)
    return msgspec.structs.replace(
        verdict,
        ended=end,
        cause=f"{verdict.cause} The driver handled {name}{place}, and its code shows that this "
        f"led to its end: {end}.",
        confidence="low" if verdict.confidence == "low" else "medium",
    )
