"""Compares written events with the types that declare them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
from dask_blackbox.events import EventRow, Unrecognised, decoded, encoded
from dask_blackbox.segments import read_segment

__all__ = ["undeclared", "undeclared_in_folder"]

Place = tuple[str, ...]


def undeclared(rows: Iterable[EventRow]) -> set[str]:
    """Return what the types do not declare of some events, as `kind: what`."""
    return {f"{row[1]}: {problem}" for row in rows for problem in _problems(row)}


def undeclared_in_folder(folder: Path) -> set[str]:
    """Return what the types do not declare of all recordings in a folder."""
    return undeclared(
        row for path in sorted(folder.rglob("*")) for row in _events_of(path)
    )


def _events_of(path: Path) -> Iterator[EventRow]:
    if path.suffix == ".seg":
        for frame in read_segment(path.read_bytes()).frames:
            for at, kind, subject, detail in frame.rows.get("event", ()):
                yield at, kind, subject, detail
    elif path.name == "events.parquet":
        table = pl.read_parquet(path)
        for kind, subject, detail in table[["kind", "subject", "detail"]].rows():
            yield 0.0, kind, subject, detail


def _problems(row: EventRow) -> Iterator[str]:
    event = decoded(*row)
    if isinstance(event, Unrecognised):
        yield "the kind"
        return
    yield from (f"{name} does not fit its type" for name in event.malformed)
    yield from (f"{name} is not declared" for name in event.extra)
    if not event.malformed:
        kept = set(_places(json.loads(encoded(event)[3])))
        for place in set(_places(json.loads(row[3]))) - kept:
            yield f"{'.'.join(place)} is not declared"


def _places(value: Any, place: Place = ()) -> Iterator[Place]:
    """Yield where there is something in a JSON value."""
    if isinstance(value, dict):
        for name, inside in value.items():
            yield from _places(inside, (*place, name))
    elif isinstance(value, list):
        for inside in value:
            yield from _places(inside, (*place, "[]"))
    elif value is not None:
        yield place
