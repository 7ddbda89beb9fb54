"""What a rule is: a question to a case, documented by its page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec

from dask_blackbox.analyse.case import Case
from dask_blackbox.finding import (
    Confidence,
    Cost,
    Evidence,
    Finding,
    RetryAdvice,
    Severity,
    Subject,
    lowest_confidence,
)
from dask_blackbox.formatting import clean
from dask_blackbox.patterns import bounded

FINDINGS = Path(__file__).with_name("findings")

# Each part ends at the first title that follows: without a way back, however long it is.
_PAGE = bounded(
    r"---\n(?>(?P<matter>.{1,}?)---\n\n# )(?P<slug>[a-z0-9-]{1,})\n\n"
    r"## What it detects\n\n(?>(?P<detects>.{1,}?)\n\n## Evidence\n\n)"
    r"(?>(?P<evidence>.{1,}?)\n\n## What to do\n\n)"
    r"(?>(?P<remedy>.{1,}?)\n\nBefore:\n\n```\n)(?>(?P<before>.{0,}?)\n```\n\nAfter:\n\n```\n)"
    r"(?P<after>.{0,}?)\n```\n",
    re.DOTALL,
)


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """A number that a rule compares with.

    Attributes:
        value: Its default.
        unit: What it counts, or what it is a share of.
        meaning: What is compared with it.
    """

    value: int | float
    unit: str
    meaning: str


@dataclass(frozen=True, kw_only=True)
class Page:
    """The documentation of a rule, without its question.

    Attributes:
        detects: What happened when this rule fires.
        evidence: What of a recording proves it, and when it does not fire.
        remedy: What to do, in general; a finding says it with numbers.
        before: Code (or a command) that it is about.
        after: The same, fixed.
        thresholds: The rule's thresholds, by name.
    """

    detects: str
    evidence: str
    remedy: str
    before: str
    after: str
    thresholds: Mapping[str, Threshold] = field(default_factory=dict)


class FrontMatter(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True
):
    """The front matter of a page.

    Attributes:
        title: What the rule is about, in a line without a full stop.
        question: What it asks of a run.
        severity: Of its findings; `failure`: it may be the verdict of a failed run.
        retry_advice: Whether a retry would help, unless a finding knows better.
        retry_confidence: How sure that is, at most.
        about: `analysis` where it asks how the other rules fared, and so after them.
        thresholds: The numbers that it compares with, by name.
    """

    title: str
    question: str
    severity: Severity
    retry_advice: RetryAdvice = "unknown"
    retry_confidence: Confidence = "high"
    about: Literal["run", "analysis"] = "run"
    thresholds: dict[str, Threshold] = {}


def read_page(slug: str) -> tuple[FrontMatter, Page]:
    """Return the page of a built-in rule.

    Raises:
        FileNotFoundError: if there is none.
        ValueError: if it lacks a section.
        msgspec.ValidationError: if its front matter is not as it should be.
    """
    found = _PAGE.fullmatch((FINDINGS / f"{slug}.md").read_text("utf-8"))
    if found is None or found["slug"] != slug:
        raise ValueError(f"findings/{slug}.md lacks the sections of a page")
    sections = found.groupdict()
    # Rules are read while they are imported: in one thread.
    matter = msgspec.convert(msgspec.yaml.decode(sections.pop("matter")), FrontMatter)
    del sections["slug"]
    return matter, Page(**sections, thresholds=matter.thresholds)


def advice_on_death(slug: str) -> RetryAdvice | None:
    """Return whether a retry helps after a death: its cause comes again, or not.

    Args:
        slug: What a worker died of; None is returned if that is not known.
    """
    if slug in ("", "unknown", "worker-signalled"):
        return None
    return read_page(slug)[0].retry_advice


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
        turn: Of a user's verdict: `first`, it explains more than any built-in one; `last`, less
            than any built-in one but `unknown`.
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
        worker_memory: int | None = None,
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
            else lowest_confidence(
                confidence, retry_confidence or self.retry_confidence
            ),
            subject=subject or Subject(),
            evidence=tuple(
                msgspec.structs.replace(each, text=clean(each.text))
                for each in evidence
            ),
            cost=None if cost is None else _rounded(cost),
            worker_memory=worker_memory,
        )


def _rounded(cost: Cost) -> Cost:
    """Return a cost without digits that depend on the order of a parallel sum."""
    share = None if cost.share is None else round(min(max(cost.share, 0.0), 1.0), 6)
    return msgspec.structs.replace(cost, amount=round(cost.amount, 6), share=share)


def documented(slug: str) -> Callable[[Callable[[Case], Iterator[Finding]]], Rule]:
    """Make a function a built-in rule; everything else of it is in `findings/<slug>.md`."""
    matter, page = read_page(slug)
    facts = msgspec.structs.asdict(matter)
    facts["thresholds"] = {name: each.value for name, each in page.thresholds.items()}
    return lambda ask: Rule(slug=slug, ask=ask, page=page, **facts)
