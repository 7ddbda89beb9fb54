"""`RunCard`: the one value that crosses to a host, and a public contract (docs/card.md)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from dask_blackbox.finding import Change, Finding, RetryAdvice
from dask_blackbox.guard import guard
from dask_blackbox.past import Past

if TYPE_CHECKING:  # hosts read cards in files that are parsed all day: no polars there
    from dask_blackbox.analyse.history import History
    from dask_blackbox.run import RunTables

__all__ = [
    "CARD_SCHEMA",
    "HOPELESS",
    "RunCard",
    "RunState",
    "card_of",
    "why_not_again",
]

CARD_SCHEMA = "dask-blackbox/card/1"

RunState = Literal["running", "succeeded", "failed", "aborted", "lost"]
"""`aborted`: the driver went away before it could say how it ended; `lost`: the recorder
went away too, and its heartbeat is stale."""


class RunCard(msgspec.Struct, frozen=True, kw_only=True):
    """What a host shows of a run.

    Attributes:
        schema: Name and version of this contract.
        job: What is run again and again.
        run_id: Which of its runs.
        attempt: Which try of that run, from 1.
        state: How it ended.
        headline: The one line to read.
        verdict: The finding that explains a failed run; null where nothing failed.
        findings: All other findings, gravest first.
        changes: What changed since the last good run, the most telling first.
        past: What is known of the job's earlier runs; null where nobody has looked.
        numbers: Measures by name: durations in seconds, memory in bytes, counts.
        completeness: `recorded` (bool: the recording is in the store), `reason` where it
            is not, `complete` (bool), and what is missing, by source.
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
    findings: tuple[Finding, ...] = ()
    changes: tuple[Change, ...] = ()
    past: Past | None = None
    numbers: dict[str, float] = {}
    completeness: dict[str, Any] = {}
    links: dict[str, str] = {}

    def to_json(self) -> bytes:
        """Return the card as indented JSON."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2)

    @classmethod
    def from_json(cls, text: bytes | str) -> RunCard:
        """Read a card.

        Raises:
            msgspec.ValidationError: if the JSON does not follow the contract.
        """
        return msgspec.json.decode(text, type=cls)


HOPELESS: Final[tuple[RetryAdvice, ...]] = ("code", "data", "environment")
"""Advice that says: not before something is mended."""


def why_not_again(
    card: RunCard | None, hopeless: Collection[str] = HOPELESS
) -> str | None:
    """Return why a run would fail again if it were tried again; None if nobody is sure.

    Only a run that has ended counts, and a verdict of high confidence; hosts that follow
    it leave everything else as it is.

    Args:
        card: The run's card, if there is one.
        hopeless: The advice that is to be followed.
    """
    if card is None or card.state in {"running", "succeeded"} or card.verdict is None:
        return None
    verdict = card.verdict
    if verdict.confidence != "high" or verdict.retry_advice not in hopeless:
        return None
    return f"{verdict.retry_advice}: {card.headline}"


def card_of(
    run: RunTables,
    findings: Sequence[Finding],
    *,
    links: Mapping[str, str] | None = None,
    recorded: bool = True,
    reason: str | None = None,
    history: History | None = None,
) -> RunCard:
    """Return the card of a run.

    Args:
        run: The recording; an empty one, with its manifest and ending, if nothing could be
            recorded.
        findings: What `findings_in` found in it.
        links: URLs or store addresses by name.
        recorded: Whether the recording is in the store.
        reason: Why not, if not.
        history: The runs before it, where somebody has looked for them.
    """
    # Reading a card, which hosts do all day, needs none of this.
    from dask_blackbox.analyse import Case, state_of, verdict_of
    from dask_blackbox.analyse.capsules import capsule_links, with_capsule
    from dask_blackbox.analyse.changes import told_of_run
    from dask_blackbox.analyse.completeness import completeness_of
    from dask_blackbox.analyse.headline import headline_of
    from dask_blackbox.analyse.numbers import numbers_of

    state = state_of(run)
    verdict = verdict_of(findings, run)
    others = tuple(each for each in findings if each is not verdict)
    with guard("the capsule of a card"):
        verdict = with_capsule(run, verdict)
        links = {**(links or {}), **capsule_links(run, links)}
    numbers: dict[str, float] = {}
    unrecorded = None if recorded else reason or "no reason is known"
    case = Case(run, history=history)
    with guard("the numbers of a card"):
        numbers = numbers_of(case)
    changes: tuple[Change, ...] = ()
    past: Past | None = None
    if history is not None:
        with guard("what changed since the last good run"):
            changes, past = told_of_run(case, verdict, others)
    return RunCard(
        job=run.manifest.job,
        run_id=run.manifest.run_id,
        attempt=run.manifest.attempt,
        state=state,
        headline=headline_of(state, verdict, others, numbers, unrecorded=unrecorded),
        verdict=verdict,
        findings=others,
        changes=changes,
        past=past,
        numbers=numbers,
        completeness=completeness_of(run, recorded=recorded, reason=reason),
        links=dict(links or {}),
    )
