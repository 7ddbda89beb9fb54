"""Reading and writing the events of the `event` rows; nobody else does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar

import msgspec

from dask_blackbox.events import (
    driver,
    endings,
    graphs,
    loads,
    scheduler,
    workers,
)
from dask_blackbox.events.base import Event, Unrecognised

__all__ = ["KINDS", "EventRow", "decoded", "encoded", "of_kind"]

_COMMON = ("at", "subject", "extra", "malformed")
_WHOLE = ""

EventRow = tuple[float, str, str, str]
"""A row of `COLUMNS["event"]`: moment, kind, subject, particulars as JSON."""

KINDS: dict[str, type[Event]] = {
    each.kind: each
    for module in (workers, graphs, driver, endings, scheduler, loads)
    for each in vars(module).values()
    if isinstance(each, type) and issubclass(each, Event) and each.kind
}
"""The structs by the word under which their events are stored."""


class _Field(NamedTuple):
    name: str
    type: Any


def _fields_of(kind: type[Event]) -> dict[str, _Field]:
    """Return the fields of a kind by the name under which they are stored."""
    return {
        kind.stored_as.get(each.name, each.name): _Field(each.name, each.type)
        for each in msgspec.structs.fields(kind)
        if each.name not in _COMMON
    }


# Made at import: see docs/decisions/0014-decoders-at-import.md.
_FIELDS = {kind: _fields_of(struct) for kind, struct in KINDS.items()}
for _struct in KINDS.values():
    msgspec.convert({}, _struct)

E = TypeVar("E", bound=Event)


def decoded(at: float, kind: str, subject: str, detail: str) -> Event | Unrecognised:
    """Return an event as it was stored; raises nothing, whatever is stored."""
    struct = KINDS.get(kind)
    if struct is None:
        return Unrecognised(at=at, kind=kind, subject=subject, detail=detail)
    return of_kind(struct, at, subject, detail)


def of_kind(struct: type[E], at: float, subject: str, detail: str) -> E:
    """Return an event of a kind.

    Args:
        struct: The kind.
        at: Epoch seconds.
        subject: Whom it is about.
        detail: Its particulars as JSON.
    """
    # Not msgspec's own JSON: settings hold infinities, which Python writes.
    try:
        stored = json.loads(detail)
    except (ValueError, RecursionError):
        stored = None
    if not isinstance(stored, dict):
        return struct(at=at, subject=subject, malformed={_WHOLE: detail})
    declared = _FIELDS[struct.kind]
    given: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for name, value in stored.items():
        field = declared.get(name)
        if field is None:
            extra[name] = value
        elif value is not None:  # null is the default of what can be null
            given[field.name] = value
    known = {**given, "at": at, "subject": subject, "extra": extra}
    try:
        return msgspec.convert(known, struct)
    except (msgspec.ValidationError, RecursionError):
        return _as_far_as_possible(struct, known)


def _as_far_as_possible(struct: type[E], given: dict[str, Any]) -> E:
    """Return an event without those of its fields that do not fit their types."""
    good: dict[str, Any] = {}
    malformed: dict[str, Any] = {}
    for name, value in given.items():
        try:
            msgspec.convert({name: value}, struct)
        except (msgspec.ValidationError, RecursionError):
            malformed[struct.stored_as.get(name, name)] = value
        else:
            good[name] = value
    return msgspec.convert({**good, "malformed": malformed}, struct)


def encoded(event: Event | Unrecognised) -> EventRow:
    """Return the row of an event; what is null is left out."""
    if isinstance(event, Unrecognised):
        return event.at, event.kind, event.subject, event.detail
    if _WHOLE in event.malformed:
        return event.at, event.kind, event.subject, event.malformed[_WHOLE]
    reported = {
        stored: value
        for stored, value in _stored(event)
        if value is not None and stored not in event.malformed
    }
    reported |= event.extra | event.malformed
    return event.at, event.kind, event.subject, json.dumps(reported, default=str)


def _stored(event: Event) -> Iterator[tuple[str, Any]]:
    for stored, field in _FIELDS[event.kind].items():
        value = getattr(event, field.name)
        yield stored, msgspec.to_builtins(value, enc_hook=str)
