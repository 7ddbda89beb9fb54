"""The tables of a recording: their names, columns and types."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import polars as pl
from polars.datatypes import DataType, DataTypeClass

from dask_blackbox.events import COLUMNS

Row = dict[str, Any]
"""A row of a table, by column: what polars yields of named rows."""

ColumnType = DataType | DataTypeClass
"""A type of polars, or its class where it has no parameters."""


_TEXT = pl.String
MOMENT = pl.Datetime("us", "UTC")
"""The type of moments."""

_FIRST, _LAST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)


def sensible_moments(series: pl.Series) -> pl.Series:
    """Return moments without those that no clock has: Python has no dates for them."""
    return series.set(~series.is_between(_FIRST, _LAST), None)


DURATIONS = ("compute", "transfer", "disk", "deserialize", "event_loop")
"""Columns of seconds, kept to the microsecond."""

_NUMBER = pl.Float64
_COUNT = pl.Int64

_TYPES: dict[str, ColumnType] = {
    **dict.fromkeys(("at", "start", "stop", "joined", "left"), MOMENT),
    **dict.fromkeys(DURATIONS, _NUMBER),
    **dict.fromkeys(("cpu", "gpu", "net_read", "net_write"), _NUMBER),
    **dict.fromkeys(("disk_read", "disk_write"), _NUMBER),
    **dict.fromkeys(
        ("nbytes", "thread", "pid", "seq", "memory", "managed", "spilled", "fds"),
        _COUNT,
    ),
    **dict.fromkeys(("executing", "ready", "in_memory", "level", "gpu_memory"), _COUNT),
    **dict.fromkeys(("nthreads", "memory_limit", "exit_code", "lost"), _COUNT),
    **dict.fromkeys(("expected", "asked_to_close"), pl.Boolean),
}

TABLES = {
    "task": "tasks",
    "error": "errors",
    "log": "logs",
    "metric": "metrics",
    "event": "events",
}
"""Kinds of rows to names of tables."""

SCHEMAS: dict[str, dict[str, ColumnType]] = {
    TABLES[kind]: {column: _TYPES.get(column, _TEXT) for column in columns}
    for kind, columns in COLUMNS.items()
}

WORKER_COLUMNS = (
    "address",
    "name",
    "host",
    "pid",
    "nanny",
    "nthreads",
    "memory_limit",
    "joined",
    "left",  # null: it was connected to the end
    "expected",  # null while it lives; what the scheduler believed when it left
    "closing",  # the reason it gave for closing, if it gave one
    "stimulus_id",
    "exit_code",  # negative: minus the signal; null: unknown
    "asked_to_close",  # by its nanny
    "lost",  # how many tasks it was processing when it left
    "exit_report",  # JSON: what its nanny and its ring say
)
SCHEMAS["workers"] = {name: _TYPES.get(name, _TEXT) for name in WORKER_COLUMNS}
