"""What a rule is: a question to a case; what ours ask is in their pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.pages import Page, read_page
from dask_blackbox.finding import (
    Confidence,
    Cost,
    Evidence,
    Finding,
    RetryAdvice,
    Severity,
    Subject,
    weaker,
)
from dask_blackbox.formatting import clean

__all__ = ["Page", "Rule", "documented"]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A question, and how to answer it.

    Attributes:
        slug: The rule's word: of its file, its constant, its page and its findings.
        title: What it is about, in a line without a full stop.
        question: What it asks of a run.
        severity: `failure`: it may be the verdict of a failed run.
        retry_advice: Whether a retry would help, unless a finding knows better.
        retry_confidence: How sure that is, at most: a finding that is less sure of what
            happened is less sure of what helps.
        ask: Yields the findings.
        page: Its documentation.
        thresholds: The numbers that it compares with, by name, with their defaults.
        turn: Of a user's verdict: `first`, it explains more than any of ours; `last`, less
            than any of ours but `unknown`.
        about: `analysis` where it asks how the other rules fared, and so after them.
    """

    slug: str
    title: str
    question: str
    severity: Severity
    retry_advice: RetryAdvice = "unknown"
    retry_confidence: Confidence = "high"
    ask: Callable[[Case], Iterator[Finding]]
    page: Page
    thresholds: Mapping[str, float] = field(default_factory=dict)
    turn: Literal["first", "last"] = "first"
    about: Literal["run", "analysis"] = "run"

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
        retry_confidence: Confidence | None = None,
        cost: Cost | None = None,
    ) -> Finding:
        """Return a finding of this rule."""
        advice = retry_advice or self.retry_advice
        return Finding(
            rule=self.slug,
            title=clean(title),
            cause=clean(cause),
            severity=severity or self.severity,
            confidence=confidence,
            remedy=clean(remedy),
            retry_advice=advice,
            retry_confidence="low"
            if advice == "unknown"
            else weaker(confidence, retry_confidence or self.retry_confidence),
            subject=subject or Subject(),
            evidence=tuple(
                msgspec.structs.replace(each, text=clean(each.text))
                for each in evidence
            ),
            cost=None if cost is None else _rounded(cost),
        )


def _rounded(cost: Cost) -> Cost:
    """Return a cost without digits that depend on the order of a parallel sum."""
    share = None if cost.share is None else round(cost.share, 6)
    return msgspec.structs.replace(cost, amount=round(cost.amount, 6), share=share)


def documented(slug: str, *, ask: Callable[[Case], Iterator[Finding]]) -> Rule:
    """Return a rule of ours; all but the function that asks it is in `findings/<slug>.md`."""
    matter, page = read_page(slug)
    return Rule(
        slug=slug,
        title=matter.title,
        question=matter.question,
        severity=matter.severity,
        retry_advice=matter.retry_advice,
        retry_confidence=matter.retry_confidence,
        ask=ask,
        page=page,
        thresholds={name: each.value for name, each in page.thresholds.items()},
        about=matter.about,
    )
