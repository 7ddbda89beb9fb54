"""What happened when: arrivals, departures and deaths of workers, graphs, the driver's end."""

from __future__ import annotations

import msgspec
import numpy as np
import polars as pl

from dask_blackbox.analyse.facts.outcome import outcome_of
from dask_blackbox.analyse.facts.teardown import teardown_of
from dask_blackbox.events import (
    CaptureFailed,
    ClientAdded,
    ClusterRestarted,
    DriverEnded,
    DriverLost,
    DriverRaised,
    DriverWarning,
    Event,
    GraphFailed,
    GraphUpdated,
    SchedulerClosing,
    SchedulerLost,
    SchedulerResponded,
    SchedulerUnresponsive,
    WorkerHeartbeatTimedOut,
    WorkerRestartedForMemory,
    WorkersRetired,
)
from dask_blackbox.formatting import count, plain
from dask_blackbox.report.axis import Axis
from dask_blackbox.report.packing import packed, packed_signed, packed_texts
from dask_blackbox.report.workers import WorkerProcess
from dask_blackbox.run_tables import RunTables

_MARKED: dict[type[Event], tuple[str, str]] = {
    WorkerRestartedForMemory: ("memory", "reached its memory limit"),
    WorkerHeartbeatTimedOut: ("death", "sent no heartbeat in time"),
    WorkersRetired: ("departure", "workers were retired"),
    GraphFailed: ("failure", "a graph failed on the scheduler"),
    ClientAdded: ("client", "a client connected"),
    ClusterRestarted: ("failure", "the cluster was restarted"),
    SchedulerLost: ("failure", "the scheduler was lost"),
    SchedulerUnresponsive: ("warning", "the scheduler did not answer"),
    SchedulerResponded: ("warning", "the scheduler answered again"),
    DriverRaised: ("failure", "the driver raised"),
    DriverLost: ("failure", "the driver was lost"),
    DriverEnded: ("end", "the driver ended"),
    DriverWarning: ("warning", "the driver was warned"),
    CaptureFailed: ("warning", "capture failed"),
}


class Mark(msgspec.Struct, array_like=True):
    """One happening: ms since the axis began, its class, whom it is about, in words."""

    at: int
    kind: str
    subject: str
    text: str


class PackedMarks(msgspec.Struct):
    """All marks by column, packed; texts are numbers in `texts`."""

    number: int
    at: str
    kind: str
    subject: str
    text: str
    texts: str


def packed_marks(marks: list[Mark]) -> PackedMarks:
    """Return marks for the page: none is left out, however many there are."""
    numbers: dict[str, int] = {}

    def column(texts: list[str]) -> str:
        placed = [numbers.setdefault(text, len(numbers)) for text in texts]
        return packed(np.array(placed, dtype=np.int64))

    at = np.diff(np.array([mark.at for mark in marks], dtype=np.int64), prepend=0)
    kind = column([mark.kind for mark in marks])
    subject = column([mark.subject for mark in marks])
    message = column([mark.text for mark in marks])
    return PackedMarks(
        len(marks),
        packed_signed(at),
        kind,
        subject,
        message,
        packed_texts(list(numbers)),
    )


def marks_of(run: RunTables, axis: Axis, processes: list[WorkerProcess]) -> list[Mark]:
    """Return everything that is marked on the time axis, in order."""
    marks = [
        *_worker_marks(axis, processes),
        *_event_marks(run, axis),
        *_sample_marks(run, axis),
    ]
    there = [mark for mark in marks if 0 <= mark.at <= axis.length * 1000 + 1]
    return sorted(there, key=lambda mark: mark.at)


def _worker_marks(axis: Axis, processes: list[WorkerProcess]) -> list[Mark]:
    marks = []
    for process in processes:
        if process.joined is not None:
            marks.append(
                Mark(_ms(process.joined, axis), "arrival", process.address, "joined")
            )
        if process.left is not None:
            kind = "death" if process.fate == "died" else "departure"
            text = f"died: {process.how}" if kind == "death" else process.how
            marks.append(Mark(_ms(process.left, axis), kind, process.address, text))
    return marks


def _event_marks(run: RunTables, axis: Axis) -> list[Mark]:
    marks = [
        Mark(_ms(graph.at, axis), "graph", "", f"graph of {count(graph.tasks)} tasks")
        for graph in run.of(GraphUpdated)
    ]
    marks += [_closing_mark(run, each, axis) for each in run.of(SchedulerClosing)]
    for event, (kind, text) in _MARKED.items():
        marks += [
            Mark(_ms(each.at, axis), kind, each.subject, text + _particulars(each))
            for each in run.of(event)
        ]
    return marks


def _sample_marks(run: RunTables, axis: Axis) -> list[Mark]:
    """Mark when samples first show that a worker was paused, ran again, or spilled."""
    before = pl.col("status").shift(1).over("source")
    is_paused, was_paused = pl.col("status") == "paused", before == "paused"
    kept = pl.col("spilled").fill_null(0).shift(1).over("source").fill_null(0)
    changes = (
        run.metrics.filter(pl.col("source") != "scheduler", pl.col("at").is_not_null())
        .sort("at", maintain_order=True)
        .with_columns(
            (is_paused & ~was_paused.fill_null(value=False)).alias("paused"),
            (~is_paused & was_paused.fill_null(value=False)).alias("resumed"),
            ((pl.col("spilled") > 0) & (kept == 0)).alias("spilling"),
        )
    )
    values = {
        "paused": "was paused for its memory: it starts no task",
        "resumed": "runs tasks again",
        "spilling": "spilled results to disk",
    }
    return [
        Mark(_ms(at.timestamp(), axis), kind, source, words)
        for kind, words in values.items()
        for at, source in changes.filter(pl.col(kind)).select("at", "source").rows()
    ]


def _closing_mark(run: RunTables, closing: SchedulerClosing, axis: Axis) -> Mark:
    """Mark that the scheduler closed: a failure only where there was still work to do."""
    outcome = outcome_of(run)
    since = teardown_of(run, outcome).since
    decided = outcome.decided_at
    begun = min((at for at in (since, decided) if at is not None), default=None)
    orderly = begun is not None and closing.at >= begun - outcome.clocks
    kind = "end" if orderly else "failure"
    text = "the scheduler closed" + _particulars(closing)
    return Mark(_ms(closing.at, axis), kind, closing.subject, text)


def _particulars(event: Event) -> str:
    names = ("exception", "reason", "message", "error")
    words = [getattr(event, name, None) for name in names]
    text = ": ".join(plain(str(word)) for word in words if word)
    return f": {text[:300]}{'…' if len(text) > 300 else ''}" if text else ""  # noqa: PLR2004


def _ms(at: float, axis: Axis) -> int:
    return round((at - axis.start) * 1000)
