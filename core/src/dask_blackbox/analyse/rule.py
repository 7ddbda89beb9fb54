"""What a rule is: a question to a case, and the one home of its text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.words import clean
from dask_blackbox.finding import (
    Confidence,
    Cost,
    Evidence,
    Finding,
    RetryAdvice,
    Severity,
    Subject,
)

__all__ = ["Page", "Rule"]


@dataclass(frozen=True, kw_only=True)
class Page:
    """What the documentation says of a rule, beside its question.

    Attributes:
        detects: What happened when this rule fires.
        evidence: What of a recording it stands on, and when it stays silent.
        remedy: What to do, in general; a finding says it with numbers.
        before: Code (or a command) that meets it.
        after: The same, mended.
    """

    detects: str
    evidence: str
    remedy: str
    before: str
    after: str


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A question, and how to answer it.

    Attributes:
        slug: The rule's word: of its file, its constant, its page and its findings.
        title: What it is about, in a line without a full stop.
        question: What it asks of a run.
        severity: `failure`: it may be the verdict of a failed run.
        retry_advice: Whether trying again would help, unless a finding knows better.
        ask: Yields the findings.
        page: Its documentation.
        thresholds: The numbers that it compares with, by name, with their defaults.
        turn: Of a user's verdict: `first`, it is asked before all of ours; `last`, only
            `unknown` comes after it (ask `case.explained`).
    """

    slug: str
    title: str
    question: str
    severity: Severity
    retry_advice: RetryAdvice = "unknown"
    ask: Callable[[Case], Iterator[Finding]]
    page: Page
    thresholds: Mapping[str, float] = field(default_factory=dict)
    turn: Literal["first", "last"] = "first"

    def threshold(self, case: Case, name: str) -> float:
        """Return one of the rule's numbers, as the user or the rule set it."""
        return case.threshold(f"{self.slug}.{name}", self.thresholds[name])

    def found(
        self,
        title: str,
        *,
        cause: str,
        remedy: str,
        confidence: Confidence,
        subject: Subject | None = None,
        evidence: tuple[Evidence, ...] = (),
        severity: Severity | None = None,
        retry_advice: RetryAdvice | None = None,
        cost: Cost | None = None,
    ) -> Finding:
        """Return a finding of this rule."""
        return Finding(
            rule=self.slug,
            title=clean(title),
            cause=clean(cause),
            severity=severity or self.severity,
            confidence=confidence,
            remedy=clean(remedy),
            retry_advice=retry_advice or self.retry_advice,
            subject=subject or Subject(),
            evidence=tuple(
                msgspec.structs.replace(each, text=clean(each.text))
                for each in evidence
            ),
            cost=cost,
        )
