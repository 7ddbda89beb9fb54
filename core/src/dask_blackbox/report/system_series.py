"""The whole cluster over time: sums of its workers' samples, and how much it logged."""

from __future__ import annotations

import msgspec
import polars as pl

from dask_blackbox.report.axis import Axis, micros_since
from dask_blackbox.run_tables import RunTables

_POINTS = 600
_WARNING, _ERROR = 30, 40

# Id, heading, unit, and (column, its name) of each line.
_TRACKS = (
    ("waiting", "Tasks on workers", "number", (("executing", "executing"), ("ready", "ready"))),
    ("network", "Network", "bytes", (("net_read", "read"), ("net_write", "written"))),
    ("disk", "Disk and spilled data", "bytes", (("disk_read", "read"), ("disk_write", "written"), ("spilled", "spilled"))),
    ("loop", "Event loop of the scheduler", "seconds", (("loop", "between two turns"),)),
)  # fmt: skip


class Line(msgspec.Struct):
    """One line of a track: null where nothing is known; `tone` names a colour."""

    name: str
    values: list[float | None]
    tone: str = ""


class Series(msgspec.Struct):
    """One track: its moments in ms since the axis began, and its lines."""

    id: str
    heading: str
    unit: str
    at: list[int]
    lines: list[Line]
    bars: bool = False


def series_of(run: RunTables, axis: Axis) -> list[Series]:
    """Return the tracks of which anything is known."""
    table = summed_metrics(run.metrics, axis, _POINTS)
    found = [_log_line_series(run, axis)]
    if table.height:
        at = ((table["at"] / 1e3 - axis.start) * 1e3).round().cast(pl.Int64).to_list()
        for name, heading, unit, columns in _TRACKS:
            known = [each for each in columns if (table[each[0]].max() or 0) != 0]
            lines = [
                Line(text, table[column].round(3 if unit == "seconds" else 0).to_list())
                for column, text in known
            ]
            if lines:
                found.append(Series(name, heading, unit, at, lines))
    return [each for each in found if each.lines]


def _log_line_series(run: RunTables, axis: Axis) -> Series:
    """Return how many log lines there were in each step, by level."""
    step = max(1, int(axis.length * 1e3 / _POINTS))
    steps = int(axis.length * 1e3 / step) + 1
    grave = pl.col("level").fill_null(0)
    lines = run.logs.select(
        (micros_since(axis, "at") // 1000 // step).alias("step"),
        pl.when(grave >= _ERROR).then(0).when(grave >= _WARNING).then(1).otherwise(2)
        .alias("rank"),
    ).filter(pl.col("step").is_between(0, steps - 1))  # fmt: skip
    numbers = [[0.0] * steps for _ in range(3)]
    for place, rank, number in (
        lines.group_by("step", "rank", maintain_order=True).len().iter_rows()
    ):
        numbers[rank][place] = number
    named = (("errors", "fail"), ("warnings", "warn"), ("other lines", "curve"))
    made = [
        Line(name, [*values], tone)
        for (name, tone), values in zip(named, numbers, strict=True)
        if any(values)
    ]
    at = [place * step for place in range(steps)]
    return Series("loglines", "Log lines", "number", at, made, bars=True)


def summed_metrics(
    metrics: pl.DataFrame, axis: Axis, points: int = 1_200
) -> pl.DataFrame:
    """Sum the workers' means (of memory: the highest) in each step of time."""
    known = metrics.filter(pl.col("at").is_not_null())
    if known.height == 0:
        return known
    step = max(1_000_000, int(axis.length * 1e6 / points))
    means = ("managed", "spilled", "net_read", "net_write", "disk_read", "disk_write")
    stepped = (
        known.with_columns((pl.col("at").dt.epoch("us") // step * step).alias("step"))
        .group_by("source", "step", maintain_order=True)
        .agg(
            pl.col("memory").max(),
            pl.col("cpu").mean() / 100,
            pl.col("event_loop").max(),
            *(pl.col(name).mean() for name in (*means, "executing", "ready")),
        )
    )
    workers = (
        stepped.filter(pl.col("source") != "scheduler")
        .group_by("step", maintain_order=True)
        .agg(
            pl.col("memory").max().alias("most"),
            pl.col("memory").sum(),
            pl.col("cpu").sum().alias("cores"),
            *(pl.col(name).sum() for name in (*means, "executing", "ready")),
        )
    )
    scheduler = stepped.filter(pl.col("source") == "scheduler").select(
        "step", pl.col("cpu").alias("scheduler"), pl.col("event_loop").alias("loop")
    )
    joined = workers.join(scheduler, on="step", how="full", coalesce=True).sort("step")
    return joined.select(
        (pl.col("step") / 1e3).alias("at"), pl.exclude("step").cast(pl.Float64)
    )
