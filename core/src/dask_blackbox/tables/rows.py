"""Rows to tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest

import polars as pl

from dask_blackbox.events import COLUMNS, Rows
from dask_blackbox.tables.schemas import MOMENT, SCHEMAS, TABLES

__all__ = ["frame_of_columns", "frames_of", "in_order"]


_ORDER = {
    "tasks": "start",
    "errors": "at",
    "logs": "at",
    "metrics": "at",
    "events": "at",
}


def frames_of(rows: Rows) -> dict[str, pl.DataFrame]:
    """Return the tables `tasks`, `errors`, `logs`, `metrics`, `events` of some rows."""
    return in_order(
        {
            TABLES[kind]: _frame(TABLES[kind], columns, rows.get(kind, ()))
            for kind, columns in COLUMNS.items()
        }
    )


def in_order(frames: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the tables by time; rows of the same moment stay as they came.

    Results have the sizes that were measured, so that what is stored has them, too.
    """
    ordered = {
        name: frame.sort(_ORDER[name], maintain_order=True, nulls_last=True)
        for name, frame in frames.items()
    }
    measured = _with_measured_results(ordered["tasks"], ordered["events"])
    return ordered | {"tasks": measured}


def _frame(
    table: str, columns: tuple[str, ...], rows: Sequence[Sequence[object]]
) -> pl.DataFrame:
    # Whoever wrote them may know fewer columns, or more.
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
        tasks: One row per execution.
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
