"""Reading and writing the events of the `event` rows; no other process does."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TypeVar, cast

import msgspec

from dask_blackbox.events import (
    driver,
    endings,
    graphs,
    scheduler,
    units,
    workers,
)
from dask_blackbox.events.base import Event, Unrecognised

_COMMON = ("at", "subject", "extra", "malformed")
_WHOLE = ""

EventRow = tuple[float, str, str, str]
"""A row of `COLUMNS["event"]`: moment, kind, subject, particulars as JSON."""

LogRow = tuple[float, str, str, int, int, str, int | None, str, str | None]
"""A row of `COLUMNS["log"]`."""

KINDS: dict[str, type[Event]] = {
    each.kind: each
    for module in (workers, graphs, driver, endings, scheduler, units)
    for each in vars(module).values()
    if isinstance(each, type) and issubclass(each, Event) and each.kind
}
"""The structs by the word under which their events are stored."""


@cache
def _fields_of(kind: type[Event]) -> frozenset[str]:
    """Return the names of the fields that events of a kind have beside the common ones."""
    return frozenset(kind.__struct_fields__) - frozenset(_COMMON)


# Made at import: see docs/decisions/0014-decoders-at-import.md.
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
        at: Epoch seconds.
    """
    # Not msgspec's own JSON: settings hold infinities, which Python writes.
    try:
        stored = json.loads(detail)
    except (TypeError, ValueError, RecursionError):
        stored = None
    if not isinstance(stored, dict):
        return struct(at=at, subject=subject, malformed={_WHOLE: detail})
    declared = _fields_of(struct)
    given: dict[str, object] = {}
    extra: dict[str, object] = {}
    for name, value in stored.items():
        if name not in declared:
            extra[name] = value
        elif value is not None:  # null is the default of what can be null
            given[name] = value
    known = {**given, "at": at, "subject": subject, "extra": extra}
    try:
        return msgspec.convert(known, struct)
    except (msgspec.ValidationError, RecursionError):
        return _as_far_as_possible(struct, known)


def _as_far_as_possible(struct: type[E], given: dict[str, object]) -> E:
    """Return an event without the fields that do not fit their types."""
    good: dict[str, object] = {}
    malformed: dict[str, object] = {}
    for name, value in given.items():
        try:
            msgspec.convert({name: value}, struct)
        except (msgspec.ValidationError, RecursionError):
            malformed[name] = value
        else:
            good[name] = value
    return msgspec.convert({**good, "malformed": malformed}, struct)


def encoded(event: Event | Unrecognised) -> EventRow:
    """Return the row of an event; what is null is left out."""
    if isinstance(event, Unrecognised):
        return event.at, event.kind, event.subject, event.detail
    if _WHOLE in event.malformed:
        return event.at, event.kind, event.subject, str(event.malformed[_WHOLE])
    fields = {
        name: value
        for name, value in _stored(event)
        if value is not None and name not in event.malformed
    }
    fields |= event.extra | event.malformed
    return event.at, event.kind, event.subject, json.dumps(fields, default=str)


def _stored(event: Event) -> Iterator[tuple[str, object]]:
    for name in type(event).__struct_fields__:
        if name not in _COMMON:
            yield name, msgspec.to_builtins(getattr(event, name), enc_hook=str)


Rows = Mapping[str, Sequence[Sequence[object]]]
"""Rows by kind, each in the column order of `COLUMNS`."""


def event_rows(rows: Rows) -> Sequence[EventRow]:
    """Return the rows of events in a batch."""
    return cast("Sequence[EventRow]", rows.get("event", ()))


def log_rows(rows: Rows) -> Sequence[LogRow]:
    """Return the log lines in a batch."""
    return cast("Sequence[LogRow]", rows.get("log", ()))


COLUMNS: dict[str, tuple[str, ...]] = {
    # One row for each finished execution of a task, with any outcome.
    "task": (
        "key",
        "prefix",
        "group",
        "worker",  # address
        "thread",  # thread id on that worker
        "start",  # of its first part (deserialize, disk, transfer, compute)
        "stop",  # of its last part
        "compute",  # seconds
        "transfer",
        "disk",
        "deserialize",
        "nbytes",  # of the result
        "typename",  # of the result
        "outcome",  # finished | erred | retried | released | killed
        "last_input",  # key of the input whose end let it run; "": none did
    ),
    # One row for each exception of a task, retried attempts included.
    "error": (
        "at",
        "key",
        "prefix",
        "worker",
        "outcome",  # erred | retried | killed | released (it raised when it was no longer needed)
        "exception",  # qualified name of the class
        "message",
        "traceback",  # text, chained causes included where known
        "cause",  # key of the task whose failure this one inherits, or null
        "bases",  # what the class derives from, up to BaseException; or null
    ),
    "log": (
        "at",
        "role",  # scheduler | worker | nanny | driver
        "source",  # address; "driver" for the driver; "scheduler" for the scheduler
        "pid",
        "seq",  # per (source, pid): gaps are losses
        "logger",  # "stdout" and "stderr" for printed lines
        "level",  # numeric, as in logging
        "message",  # formatted, traceback appended
        "key",  # of the task that wrote it, or null
    ),
    # One row per worker (and scheduler) and sampling instant.
    "metric": (
        "at",
        "source",  # address; "scheduler"
        "cpu",  # percent of one core
        "memory",  # process memory (RSS)
        "managed",
        "spilled",  # on disk
        "fds",
        "net_read",  # bytes per second
        "net_write",
        "disk_read",
        "disk_write",
        "event_loop",  # seconds between two turns of the event loop
        "executing",
        "ready",  # tasks waiting on the worker; processing+queued for the scheduler
        "in_memory",
        "status",  # running | paused | closing_gracefully | …
        "gpu",  # percent of the time in which the worker's GPU computed
        "gpu_memory",  # bytes of that GPU that are in use, by whatever process
    ),
    # Everything else: a moment, a kind, a subject and details.
    "event": (
        "at",
        "kind",  # the `kind` of an `Event`
        "subject",  # worker address, client id, key … or ""
        "detail",  # JSON object as text
    ),
}
