"""Batches of segments to tables, a column at a time: no row is ever made.

What a segment left out because it repeats stays out until polars puts it back: words are
looked up by their codes, numbers go over as they are.  Workers and spans are assembled from
events and tasks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise, zip_longest

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dask_blackbox.events import COLUMNS, Rows
from dask_blackbox.segments import Batch, Column
from dask_blackbox.tables.schemas import (
    MOMENT,
    SCHEMAS,
    TABLES,
    WORKER_COLUMNS,
    ColumnType,
    Row,
    sensible_moments,
)

_MICROS = 1_000_000


def frames_of_batches(batches: Iterable[Batch]) -> dict[str, pl.DataFrame]:
    """Return the tables `tasks`, `errors`, `logs`, `metrics`, `events` of some batches.

    A batch that was pulled twice counts once, and so does a log line or an event that came
    both from its process and from the file that this process left when it died.  Kinds of
    rows and columns that this version does not know are left out.
    """
    chosen = list(_once(batches))
    frames = by_time(
        {
            TABLES[kind]: _frame(
                TABLES[kind],
                names,
                [b.columns[kind] for b in chosen if b.counts.get(kind)],
            )
            for kind, names in COLUMNS.items()
        }
    )
    return frames | {
        name: _rows_once(frames[name], same) for name, same in _SAME.items()
    }


_SAME = {
    "events": COLUMNS["event"],
    # With the text, as a process that is recorded again may count from 0 again.
    "logs": ("source", "pid", "seq", "message"),
}
"""What two rows have in common that are the same one."""


def _rows_once(frame: pl.DataFrame, same: Sequence[str]) -> pl.DataFrame:
    known = pl.all_horizontal(pl.col(same).is_not_null())
    twice = known & ~pl.struct(same).is_first_distinct()
    return frame.filter(~twice)


def _once(batches: Iterable[Batch]) -> Iterable[Batch]:
    seen: set[tuple[str, int]] = set()
    for batch in batches:
        if batch.seq is not None:
            if (batch.source, batch.seq) in seen:
                continue
            seen.add((batch.source, batch.seq))
        yield batch


def _frame(
    table: str, names: Sequence[str], parts: Sequence[Sequence[Column]]
) -> pl.DataFrame:
    heights = [_height(part) for part in parts]
    columns = []
    for index, name in enumerate(names):
        dtype = SCHEMAS[table][name]
        pieces = [
            part[index] if index < len(part) else _nothing(height)
            for part, height in zip(parts, heights, strict=True)
        ]
        columns.append(_series(pieces, dtype).alias(name))
    return pl.DataFrame(columns)


def _height(part: Sequence[Column]) -> int:
    return len(part[0].values) if part else 0


def _nothing(height: int) -> Column:
    return Column(np.zeros(height, np.int64), words=[None])


def _series(pieces: Sequence[Column], dtype: ColumnType) -> pl.Series:
    """Return one series of the pieces of a column, alike ones together."""
    if not pieces:
        return pl.Series([], dtype=dtype)
    edges = [0]
    edges += [i for i, (a, b) in enumerate(pairwise(pieces), 1) if _kind(a) != _kind(b)]
    edges.append(len(pieces))
    return pl.concat([_alike(pieces[a:b], dtype) for a, b in pairwise(edges)])


def _kind(piece: Column) -> object:
    is_text = piece.words is not None or isinstance(piece.values, list)
    return "words" if is_text else (piece.values.dtype.kind, piece.scale)


def _alike(pieces: Sequence[Column], dtype: ColumnType) -> pl.Series:
    if _kind(pieces[0]) == "words":
        words, codes = _joined(pieces)
        return _typed(words, dtype).gather(pl.Series(codes))
    values = pl.Series(np.concatenate([piece.values for piece in pieces]))
    scale = pieces[0].scale
    if dtype != MOMENT:
        series = (values / scale if scale > 1 else values).cast(dtype, strict=False)
    elif scale == _MICROS:
        series = sensible_moments(values.cast(MOMENT))
    else:
        series = _moments(values.cast(pl.Float64) / scale)
    if all(piece.nulls is None for piece in pieces):
        return series
    nulls = [
        np.zeros(len(piece.values), np.bool_) if piece.nulls is None else piece.nulls
        for piece in pieces
    ]
    there = pl.Series(~np.concatenate(nulls))
    return series.zip_with(
        there, pl.Series([None], dtype=dtype).new_from_index(0, len(series))
    )


def _joined(pieces: Sequence[Column]) -> tuple[list[object], NDArray[np.uint32]]:
    """Return all words of the pieces, and for each row which of them stands there."""
    words: list[object] = []
    codes = []
    for piece in pieces:
        own = piece.values if piece.words is None else piece.words
        places = np.arange(len(own)) if piece.words is None else piece.values
        codes.append(places + len(words))
        words += own
    return words, np.concatenate(codes).astype(np.uint32)


def _typed(words: list[object], dtype: ColumnType) -> pl.Series:
    if dtype == MOMENT:
        return _moments(_plain(words, pl.Float64))
    return _plain(words, dtype)


def _moments(seconds: pl.Series) -> pl.Series:
    micros = (seconds * _MICROS).round()
    whole = micros.set(~(micros.is_finite() & (micros.abs() < 2**62)), None)
    return sensible_moments(whole.cast(pl.Int64, strict=False).cast(MOMENT))


def _plain(words: list[object], dtype: ColumnType) -> pl.Series:
    try:
        return pl.Series(words, dtype=dtype, strict=False)
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        # Something of another kind than the column; it must not cost the others.
        if dtype == pl.String:
            words = [None if word is None else str(word) for word in words]
            return pl.Series(words, dtype=dtype)
        fitting = (int, float) if dtype != pl.Boolean else (bool,)
        words = [word if isinstance(word, fitting) else None for word in words]
        return pl.Series(words, dtype=pl.Float64, strict=False).cast(
            dtype, strict=False
        )


_ORDER = {
    "tasks": "start",
    "errors": "at",
    "logs": "at",
    "metrics": "at",
    "events": "at",
}


def frames_of(rows: Rows) -> dict[str, pl.DataFrame]:
    """Return the tables `tasks`, `errors`, `logs`, `metrics`, `events` of some rows."""
    return by_time(
        {
            TABLES[kind]: _frame_of(TABLES[kind], columns, rows.get(kind, ()))
            for kind, columns in COLUMNS.items()
        }
    )


def by_time(frames: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the tables by time; rows of the same moment stay as they came.

    Results have the sizes that were measured, so that what is stored has them, too.
    """
    ordered = {
        name: frame.sort(_ORDER[name], maintain_order=True, nulls_last=True)
        for name, frame in frames.items()
    }
    measured = _with_measured_results(ordered["tasks"], ordered["events"])
    return ordered | {"tasks": measured}


def _frame_of(
    table: str, columns: tuple[str, ...], rows: Sequence[Sequence[object]]
) -> pl.DataFrame:
    # Their writer may have known fewer columns, or more.
    nothing = (None,) * len(rows)
    known = list(zip_longest(*rows))
    known += [nothing] * (len(columns) - len(known))
    return frame_of_columns(table, dict(zip(columns, known, strict=False)))


def frame_of_columns(
    table: str, columns: Mapping[str, Iterable[object]]
) -> pl.DataFrame:
    """Return the table `table` of columns of plain values, moments in epoch seconds."""
    series = []
    for name, kind in SCHEMAS[table].items():
        values = list(columns[name])
        if kind == MOMENT:
            moments = pl.Series(name, values, dtype=pl.Float64, strict=False)
            series.append((moments * 1e6).round().cast(pl.Int64).cast(MOMENT))
        else:
            series.append(pl.Series(name, values, dtype=kind, strict=False))
    return pl.DataFrame(series)


_KIND = "result-size"


def _with_measured_results(tasks: pl.DataFrame, events: pl.DataFrame) -> pl.DataFrame:
    """Return the table `tasks`, its `nbytes` corrected by what workers have measured.

    Args:
        events: Those of the run; `result-size` events name the key and the bytes.
    """
    reported = events.filter(pl.col("kind") == _KIND)
    if not reported.height:
        return tasks
    sizes = reported.group_by(pl.col("subject").alias("key"), maintain_order=True).agg(
        pl.col("detail")
        .str.json_path_match("$.nbytes")
        .cast(pl.Int64, strict=False)
        .last()
        .alias("measured")
    )
    finished = pl.col("outcome") == "finished"
    larger = finished & (pl.col("measured") > pl.col("nbytes").fill_null(0))
    corrected = pl.when(larger).then("measured").otherwise("nbytes").alias("nbytes")
    joined = tasks.join(sizes, on="key", how="left", maintain_order="left")
    return joined.with_columns(corrected).drop("measured")


_UNNAMED = "default"  # Dask's own name for what is in no span
_SECONDS = ("compute", "transfer", "disk")

SPAN_COLUMNS: dict[str, ColumnType] = {
    "span": pl.String,  # its id
    "name": pl.String,  # from the outermost on: etl/load
    "parent": pl.String,  # id; null: none
    "enqueued": MOMENT,
    "start": MOMENT,
    "stop": MOMENT,
    "tasks": pl.Int64,
    "failed": pl.Int64,
    "compute": pl.Float64,
    "transfer": pl.Float64,
    "disk": pl.Float64,
    "nbytes": pl.Int64,
}


def spans_of(events: pl.DataFrame, tasks: pl.DataFrame) -> pl.DataFrame:
    """Return one row per span, as it was last reported, without the spans within it.

    Tasks are those that are recorded: the scheduler's own counts also hold others'.
    Without any span of the user's, there is no row.
    """
    facts_of: dict[str, Row] = {}
    chosen = events.filter(pl.col("kind") == "span")
    for subject, detail in chosen.select("subject", "detail").iter_rows():
        facts_of[subject] = _facts(detail)
    if all(facts.get("name") == [_UNNAMED] for facts in facts_of.values()):
        facts_of = {}
    spans = pl.DataFrame(
        [
            {
                "span": span,
                "name": "/".join(map(str, _listed(facts, "name"))),
                "parent": _text(facts, "parent"),
                **{at: _number(facts, at) for at in ("enqueued", "start", "stop")},
            }
            for span, facts in facts_of.items()
        ],
        schema={
            name: pl.Float64 if kind == MOMENT else kind
            for name, kind in list(SPAN_COLUMNS.items())[:6]
        },
        strict=False,
    ).with_columns(_moment(name) for name in ("enqueued", "start", "stop"))
    totals = _totals(facts_of, tasks)
    counts = pl.col("tasks", "failed", "nbytes").fill_null(0)
    seconds = pl.col(_SECONDS).fill_null(0.0)
    table = spans.join(totals, on="span", how="left").with_columns(counts, seconds)
    return table.select(
        pl.col(name).cast(kind) for name, kind in SPAN_COLUMNS.items()
    ).sort("enqueued", maintain_order=True)


def _moment(name: str) -> pl.Expr:
    return (pl.col(name) * 1e6).round().cast(pl.Int64).cast(MOMENT)


def _totals(spans: dict[str, Row], tasks: pl.DataFrame) -> pl.DataFrame:
    """Return what the executions of each span add up to."""
    homes = pl.DataFrame(
        [
            {"group": str(group), "since": _since(facts), "span": span}
            for span, facts in spans.items()
            for group in _listed(facts, "groups")
        ],
        schema={"group": pl.String, "since": pl.Float64, "span": pl.String},
        strict=False,
    ).with_columns(_moment("since"))
    # A group's name may come again in a later span.
    first = homes.group_by("group", maintain_order=True).agg(
        pl.col("span").sort_by("since").first()
    )
    placed = (
        tasks.filter(pl.col("start").is_not_null())
        .sort("start")
        .join_asof(
            homes.sort("since"),
            left_on="start",
            right_on="since",
            by="group",
            check_sortedness=False,
        )
        .join(first, on="group", how="left", suffix="_first")
        .with_columns(pl.coalesce("span", "span_first").alias("span"))
    )
    return (
        placed.filter(pl.col("span").is_not_null())
        .group_by("span", maintain_order=True)
        .agg(
            pl.len().alias("tasks"),
            (pl.col("outcome") != "finished").sum().alias("failed"),
            pl.col(_SECONDS).sum(),
            pl.col("nbytes").sum(),
        )
    )


def _since(facts: Row) -> float | None:
    """Return from when on tasks may be of a span, by the clocks of workers.

    It is enqueued by the scheduler's clock, and by a slow clock its first task started before.
    """
    moments = (_number(facts, "enqueued"), _number(facts, "start"))
    return min((each for each in moments if each is not None), default=None)


def workers_of(events: pl.DataFrame) -> pl.DataFrame:
    """Return one row per worker process, from the events about it."""
    processes: list[Row] = []
    present: dict[str, Row] = {}
    reports: list[tuple[str, Row]] = []
    for at, kind, subject, detail in events.select(
        pl.col("at").dt.epoch("us") / 1e6, "kind", "subject", "detail"
    ).iter_rows():
        if not kind.startswith("worker-"):
            continue
        facts = _facts(detail)
        if kind == "worker-added":
            present[subject] = _new_process(subject, at, facts)
            processes.append(present[subject])
        elif kind == "worker-exit-report":
            reports.append((subject, facts))
        elif subject in present and kind == "worker-closing":
            present[subject]["closing"] = facts.get("reason")
        elif subject in present and kind == "worker-removed":
            process = present.pop(subject)
            process |= {"left": at, "expected": facts.get("expected")}
            process["stimulus_id"] = facts.get("stimulus_id")
            process["lost"] = len(_listed(facts, "processing"))
    for address, facts in reports:
        pids = (facts.get("pid"), None)
        for process in processes:
            if process["address"] == address and process["pid"] in pids:
                _add_exit_report(process, facts)
    return frame_of_columns(
        "workers",
        {name: [process[name] for process in processes] for name in WORKER_COLUMNS},
    )


def _new_process(address: str, at: float, facts: Row) -> Row:
    """Return the row of a process that has just joined."""
    known = ("name", "host", "pid", "nanny", "nthreads", "memory_limit")
    process: Row = dict.fromkeys(WORKER_COLUMNS) | {"address": address, "joined": at}
    process |= {field: facts.get(field) for field in known}
    process["name"] = None if process["name"] is None else str(process["name"])
    return process


def _facts(detail: str | None) -> Row:
    """Return the particulars of an event; none where they are no JSON object."""
    try:
        facts = json.loads(detail or "{}")
    except (ValueError, RecursionError):
        return {}
    return facts if isinstance(facts, dict) else {}


def _listed(facts: Row, name: str) -> list[object]:
    """Return a list among the particulars; an empty one where there is none."""
    found = facts.get(name)
    return found if isinstance(found, list) else []


def _number(facts: Row, name: str) -> float | None:
    found = facts.get(name)
    return (
        float(found) if isinstance(found, int | float) and abs(found) < _LARGE else None
    )


def _text(facts: Row, name: str) -> str | None:
    found = facts.get(name)
    return found if isinstance(found, str) else None


_LARGE = 1e12  # seconds; no clock shows as much


def _add_exit_report(process: Row, facts: dict[str, object]) -> None:
    """Merge an exit report into the row of its process; one exit may have several reports."""
    for fact in ("exit_code", "asked_to_close"):
        if facts.get(fact) is not None:
            process[fact] = facts[fact]
    # A report without a field does not erase what another report has.
    known = _facts(process["exit_report"])
    fields = {name: fact for name, fact in facts.items() if fact not in (None, "", [])}
    process["exit_report"] = json.dumps({**facts, **known, **fields})
