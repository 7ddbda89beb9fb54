"""A verdict in words with what led to it, and with how the run then ended."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.causes.earlier.incident import Earlier
from dask_blackbox.analyse.exception_context import end_after_handled_errors
from dask_blackbox.analyse.frames import Frame, user_frame
from dask_blackbox.analyse.retry_advice import UNKNOWN, Advice
from dask_blackbox.analyse.signatures.python import NO_SPACE_LEFT, OPEN_FILES_EXHAUSTED
from dask_blackbox.analyse.wording import words_of_verdict
from dask_blackbox.finding import (
    ChainStep,
    Evidence,
    Finding,
    Subject,
    lowest_confidence,
)

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
    if any(each.words.account for each in found):  # the reason is shown first
        evidence = (*_evidence_of(found), *verdict.evidence)
    return msgspec.structs.replace(verdict, confidence=sure, evidence=evidence)


def _evidence_of(found: Sequence[Earlier]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(text=each.words.text, source=each.source, at=each.at, see=each.see)
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
    verdict, words = with_evidence(verdict, shown), earlier.words
    cause = words_of_verdict.cause_after(words, verdict)
    if not words.headline:
        # The rule of the verdict may have said it already.
        known = words.fix and words.fix in verdict.remedy
        remedy = verdict.remedy if known else f"{words.fix} {verdict.remedy}".lstrip()
        return msgspec.structs.replace(verdict, cause=cause, remedy=remedy)
    remedy = words.fix or words_of_verdict.look_first(words, earlier.line, _end(case))
    return msgspec.structs.replace(
        verdict,
        rule=rule,
        subject=subject,
        cause=cause,
        remedy=remedy,
        worker_memory=None,
        before=(_step(earlier, shown), *earlier.then, *verdict.before),
        retry_advice=earlier.advice.advice,
        retry_confidence=earlier.advice.confidence,
    )


def _given(earlier: Earlier, verdict: Finding) -> Finding:
    """Return a verdict with the reason that it already gives, or that an identity gives it."""
    words = earlier.words
    reason = _evidence_of([earlier]) if words.account else ()
    own = Advice(verdict.retry_advice, verdict.retry_confidence)
    advice, sure = own if earlier.advice == UNKNOWN else earlier.advice
    return msgspec.structs.replace(
        verdict,
        rule=earlier.rule or verdict.rule,
        title=words.effect or verdict.title,
        cause=words.account or verdict.cause,
        remedy=words.fix or verdict.remedy,
        confidence=lowest_confidence(verdict.confidence, earlier.sure),
        retry_advice=advice,
        retry_confidence=sure,
        evidence=(*reason, *verdict.evidence),
        before=(_step(earlier, [earlier]), *verdict.before),
    )


def _step(earlier: Earlier, shown: Sequence[Earlier]) -> ChainStep:
    text, evidence = earlier.words.headline, _evidence_of(shown)
    return ChainStep(at=earlier.at, text=text, evidence=evidence)


def _rule_and_subject(earlier: Earlier, verdict: Finding) -> tuple[str, Subject]:
    """Return what a verdict is then about."""
    if earlier.root is not None:
        return earlier.rule or "task-exception", earlier.root.subject
    exhausted = (r for said, r in _EXHAUSTED_RULES if said.search(earlier.message))
    rule = earlier.rule or next(exhausted, None)
    if rule is None:
        return verdict.rule, verdict.subject
    return rule, earlier.subject or verdict.subject


def _end(case: Case) -> Frame | None:
    """Return where what ended the run was raised."""
    failure, exception = case.blame.failure, case.exception
    if failure is not None:
        return failure.frame
    return None if exception is None else user_frame(exception.traceback)


def with_end(case: Case, verdict: Finding) -> Finding:
    """Return a verdict on an error that the driver had handled, with how it then ended.

    That one led to the other is read from the code, name by name: probable, and no proof.
    """
    reason, end = case.outcome.reason, end_after_handled_errors(case)
    if reason is None:
        return verdict
    return msgspec.structs.replace(
        verdict,
        ended=end,
        cause=words_of_verdict.cause_with_end(verdict, reason, end),
        confidence="low" if verdict.confidence == "low" else "medium",
    )
