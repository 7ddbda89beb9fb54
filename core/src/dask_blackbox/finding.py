"""The results of analysis: findings with evidence, severity and confidence.

A finding is data; text, HTML, Markdown and the hosts' pages only arrange it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, get_args

import msgspec

Severity = Literal["failure", "warning", "notice"]
"""How bad: it explains a failed run, it cost or endangers something, it is good to know."""

Confidence = Literal["high", "medium", "low"]
"""How sure: the evidence proves it, the evidence fits nothing else known, it fits."""

RetryAdvice = Literal["transient", "memory", "code", "data", "environment", "unknown"]
"""Would a retry help? As it is; with more memory; not before the code, the data or the
environment is fixed; unknown."""


def lowest_confidence(*confidences: Confidence) -> Confidence:
    """Return the weakest of several confidences."""
    return max(confidences, key=get_args(Confidence).index)


class Evidence(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One fact of the recording that supports a finding.

    Attributes:
        text: The fact, in a sentence or as the recorded line.
        source: Which table it comes from (`tasks`, `errors`, `workers`, `logs`,
            `metrics`, `events`, `driver`).
        at: When, in epoch seconds, if it happened at a moment.
        see: A command that shows it.
    """

    text: str
    source: str
    at: float | None = None
    see: str | None = None


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """What a finding is about: any of a task's key, its prefix, a worker's address."""

    key: str | None = None
    prefix: str | None = None
    worker: str | None = None


UNUSUAL = (
    "memory-forecast",
    "memory-near-limit",
    "more-memory-than-usual",
    "retries-hid-errors",
    "silent-empty-input",
    "slower-than-usual",
)
"""Rules whose findings are worth a look though the run succeeded."""
WORSE = ("slower-than-usual", "more-memory-than-usual")
"""Rules of runs that succeeded with more time or memory than usual."""


class ChainStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step of the chain that leads from a cause to the outcome of a run.

    Attributes:
        at: When, in epoch seconds, if that is known.
        text: What happened, in a few words.
        subject: What it is about.
        evidence: The evidence for it.
    """

    at: float | None = None
    text: str
    subject: Subject = Subject()
    evidence: tuple[Evidence, ...] = ()


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """What a finding cost the run.

    Attributes:
        amount: How much.
        unit: `core-seconds` (of available threads), `seconds` (of the run's own time) or
            `bytes`.
        share: Share of the run's total, 0 to 1, if that is known.
    """

    amount: float
    unit: Literal["core-seconds", "seconds", "bytes"] = "core-seconds"
    share: float | None = None


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a rule found in a recording.

    Attributes:
        rule: The rule's slug, e.g. `worker-memory-limit`.
        title: What happened, in a line without a full stop.
        cause: Why, naming the concrete key, prefix, worker and numbers.
        severity: How severe it is.
        confidence: How certain it is.
        remedy: What to do, with computed numbers.
        retry_advice: Whether a retry would help.
        retry_confidence: How certain the advice is, independently of the verdict; `low` in
            cards that are older than this field.
        subject: What it is about.
        evidence: The evidence, strongest first.
        cost: What it cost, if that is known.
        worker_memory: Bytes that each worker should have, if the remedy asks for more.
        before: What may have led to this, earliest first; the title begins with it.
        ended: How the run then ended, if the title says so.
        own_title: The title without these two; empty if it is the whole title.
    """

    rule: str
    title: str
    cause: str
    severity: Severity
    confidence: Confidence
    remedy: str
    retry_advice: RetryAdvice = "unknown"
    retry_confidence: Confidence = "low"
    subject: Subject = Subject()
    evidence: tuple[Evidence, ...] = ()
    cost: Cost | None = None
    worker_memory: int | None = None
    before: tuple[ChainStep, ...] = ()
    ended: str = ""
    own_title: str = ""


class CurrentState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a run that has not ended is doing.

    Attributes:
        text: In a line without a full stop.
        waits: Whether it waits for something, and has done so for longer than is usual.
        since: Since when it waits or no task has finished, epoch seconds.
        cause: Why, naming the concrete task, line, worker and numbers.
        usual: What is usual for this job, as far as its runs show.
        usual_until: Until when the task that runs takes no longer than is usual for its
            kind, epoch seconds; None: it does, or that is not known.
        ends: What would end the wait.
        remedy: What to do, if it waits.
        rule: The rule that explains the wait; empty if none does.
        evidence: The evidence, strongest first.
    """

    text: str
    waits: bool = False
    since: float | None = None
    cause: str = ""
    usual: str = ""
    usual_until: float | None = None
    ends: str = ""
    remedy: str = ""
    rule: str = ""
    evidence: tuple[Evidence, ...] = ()


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One difference from the last good run of the same job.

    Attributes:
        kind: One of `package`, `python`, `dask-config`, `code`, `parameters`,
            `graph-shape`, `input-size`, `cluster-shape`, `host`.
        what: Which one (a package, a setting, a prefix).
        before: The value before, or null if there was none.
        after: The value now, or null if there is none.
        rarity: Share of earlier runs of the job without such a change, 0 to 1.
        why: Its relation to the verdict, in a few words, or null.
        diff: Unified diff of the functions that changed, where source was recorded, or null.
        explains: Other differences that this one caused: code that differs because
            its package was upgraded, functions that a commit changed.
    """

    kind: str
    what: str
    before: str | None
    after: str | None
    rarity: float | None = None
    why: str | None = None
    diff: str | None = None
    explains: tuple[Change, ...] = ()


_UNUSUAL: Final = 0.8


def is_unusual(rarity: float | None) -> bool:
    """Return whether a run may be blamed on a change.

    What differs between most runs, such as the parameter of a mapped task, differs between
    those that succeed, too.

    Args:
        rarity: Share of earlier runs without such a change; None: there are none.
    """
    return rarity is None or rarity >= _UNUSUAL


def unusual(changes: Iterable[Change]) -> tuple[Change, ...]:
    """Return those that a run may be blamed on, in the same order."""
    return tuple(each for each in changes if is_unusual(each.rarity))
