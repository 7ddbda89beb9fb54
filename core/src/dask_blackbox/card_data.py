"""The values of a card and of what hosts show beside it; `card.py` makes cards, and shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from dask_blackbox.finding import ChainStep, Change, CurrentState, Finding
from dask_blackbox.job_history import Past
from dask_blackbox.manifest import Completeness

CARD_SCHEMA = "dask-blackbox/card/1"

RunState = Literal["running", "succeeded", "failed", "aborted", "lost"]
"""`aborted`: the driver went away before it could say how it ended; `lost`: the recorder
went away too, and its heartbeat is stale."""


NOT_STORED: Final[Mapping[str, str]] = {
    "spool": "recorded on this machine only",
    "none": "not recorded",
}
"""What is reported of a recording that is not in its store, by `Completeness.kept`."""


def not_stored(card: CardData) -> str | None:
    """Return what became of a recording that is not in its store, and why; None if it is.

    `not recorded: …`, or `recorded on this machine only: …` if it waits in the spool.
    """
    known = card.completeness
    if known.get("recorded", True):
        return None
    reason = known.get("reason") or "the reason is unknown"
    return f"{NOT_STORED.get(known.get('kept', 'none'), NOT_STORED['none'])}: {reason}"


def not_stored_beside_verdict(card: CardData) -> str | None:
    """Return what `not_stored` does, unless the verdict's cause gives the same reason."""
    reason = str(card.completeness.get("reason") or "")
    nowhere = card.completeness.get("kept", "none") == "none"
    said = card.verdict is not None and reason and reason in card.verdict.cause
    return None if nowhere and said else not_stored(card)


class CardData(msgspec.Struct, frozen=True, kw_only=True):
    """The values of a card.

    Attributes:
        schema: Name and version of this contract.
        job: Job name; runs of one job are compared.
        run_id: Run id. Default: derived from host and start time.
        attempt: Number of the attempt, from 1.
        state: How it ended.
        headline: Summary in one line.
        verdict: The finding that explains a failed run; null if nothing failed.
        now: What it is doing, of a run that has not ended; null of any other.
        chain: The steps that led to the outcome, from the root to the last one, the
            outcome itself; empty if nothing failed.
        findings: All other findings, most severe first.
        changes: What changed since the last good run, the most relevant first.
        past: What is known of the job's earlier runs; null if the history was not read.
        numbers: Measures by name: durations in seconds, memory in bytes, counts.
        completeness: Whether the recording is in the store, and what it lacks.
        links: URLs or store addresses by name (`report`, `performance_report`,
            `recording`, `dashboard`, …).
    """

    schema: str = CARD_SCHEMA
    job: str
    run_id: str
    attempt: int = 1
    state: RunState
    headline: str
    verdict: Finding | None = None
    now: CurrentState | None = None
    chain: tuple[ChainStep, ...] = ()
    findings: tuple[Finding, ...] = ()
    changes: tuple[Change, ...] = ()
    past: Past | None = None
    numbers: dict[str, float] = {}
    completeness: Completeness = {}
    links: dict[str, str] = {}


class TaskCost(msgspec.Struct, frozen=True, kw_only=True):
    """What a task took.

    Attributes:
        key: Of the task.
        seconds: How long its longest execution took.
        nbytes: Of its result; null where it has none.
        executions: How often it was executed.
    """

    key: str
    seconds: float = 0.0
    nbytes: int | None = None
    executions: int = 1


class TraceSpan(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part of a run as tracing tools show it.

    Attributes:
        name: What it is.
        start: When it began, epoch seconds.
        stop: When it ended, epoch seconds.
        parent: Which span of the list it is a part of; None: it is the run.
        attributes: What is known of it.
        error: Why it failed, in a line; empty: it did not.
        exception: Class, message and traceback of what a task raised, if it did.
    """

    name: str
    start: float
    stop: float
    parent: int | None = None
    attributes: dict[str, str | int | float] = {}
    error: str = ""
    exception: tuple[str, str, str] | None = None


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """The extremes of a run, and its picture.

    Attributes:
        slowest: The tasks that took longest, longest first; none from a cache, and
            none that its host did not run.
        largest: Those with the largest results, of a mebibyte at least, largest first.
        picture: The timeline as PNG; empty where nothing was executed.
    """

    slowest: tuple[TaskCost, ...] = ()
    largest: tuple[TaskCost, ...] = ()
    picture: bytes = b""
