"""The kinds of rows that can be recorded, and their columns.

Capture emits rows (tuples) by kind, in this column order; the recorder turns them into
columns; segments keep them; `run.py` gives them back as tables.  Times are epoch seconds
on the scheduler's clock, durations are seconds, sizes are bytes.  A change of a column
list is a change of the format (docs/format.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["COLUMNS", "Rows"]

Rows = Mapping[str, Sequence[Sequence[Any]]]
"""Rows by kind, each in the column order of `COLUMNS`."""

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
        "outcome",  # erred | retried | killed | released (it raised when nobody wanted it)
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
    ),
    # Everything else: a moment, a kind, whom it is about, and its particulars.
    "event": (
        "at",
        "kind",  # the `kind` of an `Event`
        "subject",  # worker address, client id, key … or ""
        "detail",  # JSON object as text
    ),
}
