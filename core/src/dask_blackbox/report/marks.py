"""What happened when: arrivals, departures and deaths of workers, graphs, the driver's end."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import polars as pl

from dask_blackbox.report.axis import Axis
from dask_blackbox.report.lives import Life
from dask_blackbox.report.words import count, duration, plain
from dask_blackbox.run import RunTables

__all__ = ["Mark", "marks_of"]

_MOST_OF_A_KIND = 400

_TOLD = {
    "worker-restarted-for-memory": ("memory", "reached its memory limit"),
    "worker-ttl": ("death", "sent no heartbeat in time"),
    "workers-retired": ("departure", "workers were retired"),
    "graph-failed": ("failure", "a graph failed on the scheduler"),
    "client-added": ("client", "a client connected"),
    "cluster-restarted": ("failure", "the cluster was restarted"),
    "scheduler-closing": ("failure", "the scheduler closed"),
    "scheduler-lost": ("failure", "the scheduler was lost"),
    "scheduler-silent": ("warning", "the scheduler did not answer"),
    "scheduler-answers": ("warning", "the scheduler answered again"),
    "driver-exception": ("failure", "the driver raised"),
    "driver-lost": ("failure", "the driver was lost"),
    "driver-ended": ("end", "the driver ended"),
    "driver-warning": ("warning", "the driver was warned"),
    "capture-dropped": ("warning", "capture had to drop rows"),
    "capture-failed": ("warning", "capture failed"),
}


class Mark(msgspec.Struct, array_like=True):
    """One happening: ms since the axis began, its class, whom it is about, in words."""

    at: int
    kind: str
    subject: str
    said: str


def marks_of(run: RunTables, axis: Axis, lives: list[Life]) -> list[Mark]:
    """Return what is marked on the time axis, in order, bounded per kind."""
    marks = [*_of_lives(axis, lives), *_of_events(run, axis)]
    bounded: list[Mark] = []
    seen: dict[str, int] = {}
    for mark in sorted(marks, key=lambda mark: mark.at):
        if not 0 <= mark.at <= axis.length * 1000 + 1:
            continue
        seen[mark.kind] = seen.get(mark.kind, 0) + 1
        if seen[mark.kind] <= _MOST_OF_A_KIND:
            bounded.append(mark)
    return bounded


def _of_lives(axis: Axis, lives: list[Life]) -> list[Mark]:
    marks = []
    for life in lives:
        if life.joined is not None:
            marks.append(
                Mark(_ms(life.joined, axis), "arrival", life.address, "joined")
            )
        if life.left is not None:
            kind = "death" if life.fate == "died" else "departure"
            said = f"died: {life.how}" if kind == "death" else life.how
            marks.append(Mark(_ms(life.left, axis), kind, life.address, said))
    return marks


def _of_events(run: RunTables, axis: Axis) -> list[Mark]:
    kinds = [*_TOLD, "graph-updated"]
    chosen = run.events.filter(pl.col("kind").is_in(kinds))
    marks = []
    for row in chosen.iter_rows(named=True):
        detail = json.loads(row["detail"] or "{}")
        at = _ms(row["at"].timestamp(), axis)
        if row["kind"] == "graph-updated":
            said = f"graph of {count(detail.get('tasks') or 0)} tasks"
            if detail.get("duration"):
                said += f", taken in within {duration(detail['duration'])}"
            marks.append(Mark(at, "graph", "", said))
        else:
            kind, said = _TOLD[row["kind"]]
            subject = row["subject"] or ""
            marks.append(Mark(at, kind, subject, said + _particulars(detail)))
    return marks


def _particulars(detail: dict[str, Any]) -> str:
    words = [detail.get(name) for name in ("exception", "reason", "message", "error")]
    said = ": ".join(plain(str(word)) for word in words if word)
    return f": {said[:300]}{'…' if len(said) > 300 else ''}" if said else ""  # noqa: PLR2004


def _ms(at: float, axis: Axis) -> int:
    return round((at - axis.start) * 1000)
