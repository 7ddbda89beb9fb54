"""The completeness certificate in sentences: what came, what did not, and why."""

from __future__ import annotations

from typing import NamedTuple

from dask_blackbox.analyse.completeness import missing_from
from dask_blackbox.card import RunCard
from dask_blackbox.formatting import count, counted, duration, moment, plain
from dask_blackbox.report.card_words import what_is_missing
from dask_blackbox.run_tables import RunTables


class Certificate(NamedTuple):
    """What the recording holds and what it lacks.

    Attributes:
        recorded: Whether there is a recording.
        sentences: What is missing; none if nothing is.
        sources: (source, what came from it).
        rows: (table, number of rows).
    """

    recorded: bool
    sentences: list[str]
    sources: list[tuple[str, str]]
    rows: list[tuple[str, str]]


def certificate_of(run: RunTables, card: RunCard) -> Certificate:
    """Return the account of a recording, by the card where it says, else by the tables."""
    recorded = bool(card.completeness.get("recorded", True))
    sentences = what_is_missing(card)
    if recorded and "missing" not in card.completeness and card.state != "running":
        sentences += [
            plain(f"{source}: {sentence}")
            for source, missing in missing_from(run).items()
            for sentence in missing
        ]
    if recorded and run.ending is None and run.last_heartbeat is not None:
        sentences.append(f"Its recorder was last seen at {moment(run.last_heartbeat)}")
    sources = []
    if run.ending is not None:
        sources = [
            (plain(name), _came(account.batches, account.first, account.last))
            for name, account in sorted(run.ending.sources.items())
        ]
    tables = {
        "task executions": run.tasks,
        "errors": run.errors,
        "log lines": run.logs,
        "metric samples": run.metrics,
        "events": run.events,
    }
    rows = [(name, count(table.height)) for name, table in tables.items()]
    if run.ending is not None and run.ending.store_behind >= 1:
        rows.append(("store behind, at the worst", duration(run.ending.store_behind)))
    return Certificate(recorded, list(dict.fromkeys(sentences)), sources, rows)


def _came(batches: int, first: int | None, last: int | None) -> str:
    text = counted(batches, "batch", "batches")
    return text if first is None or last is None else f"{text}, {first} to {last}"
