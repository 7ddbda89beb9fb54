"""The completeness certificate in sentences: what came, what did not, and why."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from dask_blackbox.attach import RunCard
from dask_blackbox.manifest import SourceAccount
from dask_blackbox.report.words import (
    count,
    duration,
    moment,
    plain,
    plural,
    what_is_missing,
)
from dask_blackbox.run import RunTables

__all__ = ["Certificate", "SourceRow", "certificate_of"]


class SourceRow(NamedTuple):
    """One source: what came from it, and what is missing of it (empty: nothing)."""

    source: str
    came: str
    missing: str


class Certificate(NamedTuple):
    """The verdict on the recording itself."""

    recorded: bool
    complete: bool
    sentences: list[str]
    sources: list[SourceRow]
    rows: list[tuple[str, str]]


def certificate_of(run: RunTables, card: RunCard) -> Certificate:
    """Return what the recording holds and what it lacks."""
    sentences = what_is_missing(card)
    ending = run.ending
    sources = []
    if ending is not None:
        sources = [
            SourceRow(plain(name), _came(account), _missing(account))
            for name, account in sorted(ending.sources.items())
        ]
        lost = ending.lost_segments
        sentences += [f"Segment {name} is lost: {why}" for name, why in lost.items()]
    elif card.completeness.get("recorded", True):
        last = run.last_heartbeat
        known = (
            "" if last is None else f" Its recorder was last seen at {moment(last)}."
        )
        sentences.append(
            f"Nobody was left to end this recording; it stops where it stops.{known}"
        )
    sentences += [
        f"{name} could not be read: {why}" for name, why in run.damaged.items()
    ]
    rows = [(name, count(table.height)) for name, table in _tables(run)]
    if ending is not None and ending.store_behind >= 1:
        rows.append(("store behind, at the worst", duration(ending.store_behind)))
    whole = not sentences and not any(source.missing for source in sources)
    return Certificate(
        recorded=bool(card.completeness.get("recorded", True)),
        complete=whole,
        sentences=[plain(sentence) for sentence in dict.fromkeys(sentences)],
        sources=sources,
        rows=rows,
    )


def _came(account: SourceAccount) -> str:
    said = plural(account.batches, "batch", "batches")
    if account.first is not None and account.last is not None:
        said += f", {account.first} to {account.last}"
    return said


def _missing(account: SourceAccount) -> str:
    said = [f"batches {first} to {last} never came" for first, last in account.gaps]
    said += [
        f"{plural(number, f'{kind} row')} dropped"
        for kind, number in account.dropped.items()
        if number
    ]
    if account.error:
        said.append(account.error)
    return plain("; ".join(said))


def _tables(run: RunTables) -> list[tuple[str, pl.DataFrame]]:
    return [
        ("task executions", run.tasks),
        ("errors", run.errors),
        ("log lines", run.logs),
        ("metric samples", run.metrics),
        ("events", run.events),
    ]
