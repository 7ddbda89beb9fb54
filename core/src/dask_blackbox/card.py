"""`RunCard`: the value that crosses to a host, a public contract (docs/card.md)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import msgspec

from dask_blackbox.card_data import NOT_STORED, CardData, RunState
from dask_blackbox.decoding import checked
from dask_blackbox.finding import (
    ChainStep,
    CurrentState,
    Finding,
    RetryAdvice,
)
from dask_blackbox.guard import guard
from dask_blackbox.patterns import bounded

if TYPE_CHECKING:
    from dask_blackbox.analyse.case import Case
    from dask_blackbox.analyse.changes import CardChanges
    from dask_blackbox.analyse.earlier_runs import History
    from dask_blackbox.run_tables import RunTables

_PAGES = "https://dask-blackbox.github.io/dask-blackbox/latest/findings"
"""Where the documentation has a page for each finding."""


class RunCard(CardData, frozen=True, kw_only=True):
    """What a host shows of a run: its values, and the card in several formats."""

    def to_json(self) -> bytes:
        """Return the card as indented JSON."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2)

    def to_text(self, *, width: int = 100) -> str:
        """Return the card as plain text for a terminal of so many columns."""
        from dask_blackbox.report import text

        return text(self, width=width)

    def to_markdown(self) -> str:
        """Return the card as Markdown."""
        from dask_blackbox.report import markdown

        return markdown(self)

    def to_html(self) -> str:
        """Return the card as HTML to include in a page."""
        from dask_blackbox.report import html_card

        return html_card(self)

    def __repr__(self) -> str:
        name = f"{self.job}/{self.run_id}/{self.attempt}"
        return f"<RunCard {name} {self.state}: {self.headline}>"

    def _repr_html_(self) -> str:
        return self.to_html()

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    @classmethod
    def from_json(cls, text: bytes | str) -> RunCard:
        """Read a card.

        Raises:
            MalformedRecordingError: if the JSON does not follow the contract.
        """
        return _decode(text)


_SIGNED = bounded(r"[?&](?:X-Amz-)?Signature=")


def is_presigned(url: str) -> bool:
    """Return whether a URL opens for everyone who has it."""
    return _SIGNED.search(url) is not None


def without_presigned_links(card: RunCard) -> RunCard:
    """Return a card with the store's addresses in place of presigned links.

    Those open without a login, so that they do not belong into logs.
    """
    folder = card.links.get("recording", "").rstrip("/")
    links = {
        name: f"{folder}/{urlsplit(url).path.rpartition('/')[2]}"
        if is_presigned(url)
        else url
        for name, url in card.links.items()
    }
    return msgspec.structs.replace(card, links=links)


# Made at import: see docs/decisions/0014-decoders-at-import.md.
_decode: Callable[[bytes | str], RunCard] = checked(
    msgspec.json.Decoder(RunCard).decode
)
NON_RETRYABLE: Final[tuple[RetryAdvice, ...]] = ("code", "data", "environment")
"""Advice that says: not before something is fixed."""


def reason_against_retry(
    card: RunCard | None, non_retryable: Collection[str] = NON_RETRYABLE
) -> str | None:
    """Return why a retry of a run would fail again; None if that is not certain.

    Only a run that has ended counts, and retry advice of high confidence; hosts that
    follow it leave everything else as it is.

    Args:
        card: The run's card, if there is one.
        non_retryable: The kinds of advice to follow.
    """
    if card is None or card.state in {"running", "succeeded"} or card.verdict is None:
        return None
    verdict = card.verdict
    if verdict.retry_confidence != "high" or verdict.retry_advice not in non_retryable:
        return None
    return f"{verdict.retry_advice}: {card.headline}"


def reason_for_retry(card: RunCard | None) -> str | None:
    """Return why an identical retry of a failed run may succeed; None if it probably would not.

    Args:
        card: The run's card, if there is one.
    """
    if card is None or card.state in {"running", "succeeded"} or card.verdict is None:
        return None
    verdict = card.verdict
    if verdict.retry_advice != "transient" or verdict.retry_confidence == "low":
        return None
    return f"transient: {card.headline}"


def card_of(
    run: RunTables,
    findings: Sequence[Finding],
    *,
    links: Mapping[str, str] | None = None,
    recorded: bool = True,
    spooled: bool = False,
    reason: str | None = None,
    history: History | None = None,
    history_of: Callable[[], History] | None = None,
) -> RunCard:
    """Return the card of a run.

    Args:
        run: The recording; an empty one, with its manifest and ending, if nothing could be
            recorded.
        findings: What `findings_in` found in it.
        links: URLs or store addresses by name.
        recorded: Whether the recording is in the store.
        spooled: Whether it is in this machine's spool, if not.
        reason: Why not, if not.
        history: The runs before it, if the history was read.
        history_of: Reads it, for a run that continues; only called if nothing has moved for long.
    """
    # Reading a card, which hosts do often, needs none of this.
    from dask_blackbox.analyse import Case, state_of, verdict_of
    from dask_blackbox.analyse.causes import chain_of
    from dask_blackbox.analyse.completeness import completeness_of
    from dask_blackbox.analyse.headline import with_killed_tasks
    from dask_blackbox.analyse.numbers import numbers_of

    state = state_of(run)
    case = Case(run, history=history)
    verdict = verdict_of(findings, run) if run.ending_whole else None
    others = tuple(each for each in findings if each is not verdict)
    verdict, links = _with_bundle(run, verdict, links)
    numbers: dict[str, float] = {}
    with guard("the numbers of a card"):
        numbers = numbers_of(case)
    changed = _changes(case, verdict, others, looked_back=history is not None)
    chain: tuple[ChainStep, ...] = ()
    with guard("the chain of a card"):
        chain = chain_of(case, verdict, changed.root if changed else None)
    with guard("tasks that were given up"):
        others = with_killed_tasks(run, others)
    now = _now(run, history_of) if state == "running" else None
    verdict, chain, others = _with_host_names(run, verdict, chain, others)
    unrecorded = None
    if not recorded:
        why = reason or "the reason is unknown"
        unrecorded = f"{NOT_STORED['spool' if spooled else 'none']}: {why}"
    return RunCard(
        job=run.manifest.job,
        run_id=run.manifest.run_id,
        attempt=run.manifest.attempt,
        state=state,
        headline=_headline(
            run, state, verdict, others, numbers, unrecorded=unrecorded, now=now
        ),
        verdict=verdict,
        now=now,
        chain=chain,
        findings=others,
        changes=changed.changes if changed else (),
        past=changed.past if changed else None,
        numbers=numbers,
        completeness=completeness_of(
            run, recorded=recorded, spooled=spooled, reason=reason
        ),
        links=dict(links or {}),
    )


def _now(
    run: RunTables, history_of: Callable[[], History] | None
) -> CurrentState | None:
    """Return what a run that continues is doing, with the host's names of its tasks."""
    from dask_blackbox.analyse.current_state import current_state
    from dask_blackbox.analyse.earlier_runs import History
    from dask_blackbox.analyse.headline import HostNames

    found: list[CurrentState] = []
    with guard("what a run in progress is doing"):
        state = current_state(run, cache(history_of or History))
        found.append(HostNames(run).in_current_state(state))
    return next(iter(found), None)


def _with_bundle(
    run: RunTables, verdict: Finding | None, links: Mapping[str, str] | None
) -> tuple[Finding | None, Mapping[str, str] | None]:
    """Return a verdict and links with the failed task's bundle and the finding's page."""
    from dask_blackbox.analyse import RULES
    from dask_blackbox.analyse.task_bundles import bundle_links, with_bundle

    with guard("the failed-task bundle of a card"):
        verdict = with_bundle(run, verdict)
        links = {**(links or {}), **bundle_links(run, links)}
        if links and verdict is not None and verdict.rule in {r.slug for r in RULES}:
            links["finding"] = f"{_PAGES}/{verdict.rule}/"
    return verdict, links


def _changes(
    case: Case,
    verdict: Finding | None,
    others: Sequence[Finding],
    *,
    looked_back: bool,
) -> CardChanges | None:
    """Return what changed since the last good run, and the history of the job."""
    from dask_blackbox.analyse.changes import changes_of_run

    if looked_back:
        with guard("what changed since the last good run"):
            return changes_of_run(case, verdict, others)
    return None


def _with_host_names(
    run: RunTables,
    verdict: Finding | None,
    chain: tuple[ChainStep, ...],
    others: tuple[Finding, ...],
) -> tuple[Finding | None, tuple[ChainStep, ...], tuple[Finding, ...]]:
    """Return the texts of a card with the host's names instead of Dask's keys."""
    from dask_blackbox.analyse.headline import HostNames

    with guard("the host's names on a card"):
        names = HostNames(run)
        verdict = None if verdict is None else names.in_finding(verdict)
        chain = tuple(map(names.in_step, chain))
        others = tuple(map(names.in_finding, others))
    return verdict, chain, others


def _headline(
    run: RunTables,
    state: RunState,
    verdict: Finding | None,
    others: Sequence[Finding],
    numbers: Mapping[str, float],
    *,
    unrecorded: str | None,
    now: CurrentState | None,
) -> str:
    from dask_blackbox.analyse.facts.executions import failed_task_runs_of
    from dask_blackbox.analyse.headline import headline_of, headline_of_a_damaged_end
    from dask_blackbox.analyse.run_state import is_clusterless, silent_for

    if not run.ending_whole:
        return headline_of_a_damaged_end(state, numbers)
    return headline_of(
        state,
        verdict,
        others,
        numbers,
        unrecorded=unrecorded,
        clusterless=is_clusterless(run),
        silent=silent_for(run) if state == "running" else 0.0,
        now=now,
        failed=failed_task_runs_of(run),
    )
