"""Rows to tables: the polars frames of a recording, with their column types."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from dask_blackbox.events import COLUMNS, Rows

__all__ = ["SCHEMAS", "TABLES", "frames_of", "workers_of"]

_TEXT = pl.String
_MOMENT = pl.Datetime("us", "UTC")
_SECONDS = pl.Float64
_COUNT = pl.Int64

_TYPES: dict[str, Any] = {
    **dict.fromkeys(("at", "start", "stop", "joined", "left"), _MOMENT),
    **dict.fromkeys(
        ("compute", "transfer", "disk", "deserialize", "event_loop", "cpu"), _SECONDS
    ),
    **dict.fromkeys(
        ("net_read", "net_write", "disk_read", "disk_write"),
        _SECONDS,
    ),
    **dict.fromkeys(
        ("nbytes", "thread", "pid", "seq", "memory", "managed", "spilled", "fds"),
        _COUNT,
    ),
    **dict.fromkeys(("executing", "ready", "in_memory", "level"), _COUNT),
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

SCHEMAS: dict[str, dict[str, Any]] = {
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
    "left",  # null: it was there to the end
    "expected",  # null while it lives; what the scheduler believed when it left
    "closing",  # the reason it gave for closing, if it gave one
    "stimulus_id",
    "exit_code",  # negative: minus the signal; null: unknown
    "asked_to_close",  # by its nanny
    "lost",  # how many tasks it was processing when it left
    "certificate",  # JSON: what its nanny and its ring say
)
SCHEMAS["workers"] = {name: _TYPES.get(name, _TEXT) for name in WORKER_COLUMNS}


def frames_of(rows: Rows) -> dict[str, pl.DataFrame]:
    """Return the tables `tasks`, `errors`, `logs`, `metrics`, `events` of some rows."""
    return {
        TABLES[kind]: _frame(TABLES[kind], columns, rows.get(kind, ()))
        for kind, columns in COLUMNS.items()
    }


def _frame(
    table: str, columns: tuple[str, ...], rows: Sequence[Sequence[Any]]
) -> pl.DataFrame:
    by_column = zip(*rows, strict=True) if rows else ((),) * len(columns)
    return frame_of_columns(table, dict(zip(columns, by_column, strict=True)))


def frame_of_columns(table: str, columns: Mapping[str, Iterable[Any]]) -> pl.DataFrame:
    """Return the table `table` of columns of plain values, moments in epoch seconds."""
    series = []
    for name, kind in SCHEMAS[table].items():
        values = list(columns[name])
        if kind == _MOMENT:
            moments = pl.Series(name, values, dtype=pl.Float64, strict=False)
            series.append((moments * 1e6).round().cast(pl.Int64).cast(_MOMENT))
        else:
            series.append(pl.Series(name, values, dtype=kind, strict=False))
    return pl.DataFrame(series)


def workers_of(events: pl.DataFrame) -> pl.DataFrame:
    """Return one row per worker process, from the events that tell of its life."""
    lives: list[dict[str, Any]] = []
    open_lives: dict[str, dict[str, Any]] = {}
    certificates: list[tuple[str, float, dict[str, Any]]] = []
    for at, kind, subject, detail in events.select(
        pl.col("at").dt.epoch("us") / 1e6, "kind", "subject", "detail"
    ).iter_rows():
        if not kind.startswith("worker-"):
            continue
        facts = json.loads(detail)
        if kind == "worker-added":
            life = dict.fromkeys(WORKER_COLUMNS) | {"address": subject, "joined": at}
            life |= {k: facts.get(k) for k in ("name", "host", "pid", "nanny")}
            life |= {k: facts.get(k) for k in ("nthreads", "memory_limit")}
            life["name"] = None if life["name"] is None else str(life["name"])
            open_lives[subject] = life
            lives.append(life)
        elif kind == "worker-certificate":
            certificates.append((subject, at, facts))
        elif subject in open_lives and kind == "worker-closing":
            open_lives[subject]["closing"] = facts.get("reason")
        elif subject in open_lives and kind == "worker-removed":
            life = open_lives.pop(subject)
            life |= {"left": at, "expected": facts.get("expected")}
            life["stimulus_id"] = facts.get("stimulus_id")
            life["lost"] = len(facts.get("processing", ()))
    for address, _, facts in certificates:
        for life in lives:
            if life["address"] == address and life["pid"] in (facts.get("pid"), None):
                life["exit_code"] = facts.get("exit_code")
                life["asked_to_close"] = facts.get("asked_to_close")
                life["certificate"] = json.dumps(facts)
    return frame_of_columns(
        "workers", {name: [life[name] for life in lives] for name in WORKER_COLUMNS}
    )
