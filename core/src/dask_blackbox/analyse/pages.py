"""The pages of our rules: `findings/<slug>.md`, read once, when the rules are imported.

A page's front matter says what the rule asks, how severe its findings are, whether a retry
would help, and with which thresholds it compares; the text below is its documentation, which
docs/findings shows as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec

from dask_blackbox.finding import Confidence, RetryAdvice, Severity

__all__ = ["FINDINGS", "Page", "Threshold", "read_page"]

FINDINGS = Path(__file__).with_name("findings")

_PAGE = re.compile(
    r"---\n(?P<matter>.+?)---\n\n# (?P<slug>[a-z0-9-]+)\n\n"
    r"## What it detects\n\n(?P<detects>.+?)\n\n## Evidence\n\n(?P<evidence>.+?)\n\n"
    r"## What to do\n\n(?P<remedy>.+?)\n\nBefore:\n\n```\n(?P<before>.*?)\n```\n\n"
    r"After:\n\n```\n(?P<after>.*?)\n```\n",
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
    """What the documentation says of a rule, beside its question.

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
    """What stands above a page.

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
    """Return the page of a rule of ours.

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
