"""The task timeline: every execution counted, as many as can be seen drawn one by one.

Up to a bound each execution is a rectangle of its own.  Beyond it the longest ones and
all that failed still are; the others are summed into a grid of lanes and time steps.
The page says which.
"""

from __future__ import annotations

import msgspec
import numpy as np
import polars as pl

from dask_blackbox.report.axis import Axis, micros_since
from dask_blackbox.report.lives import Life
from dask_blackbox.report.timeline_grid import Grid, grid_of
from dask_blackbox.report.words import count, duration, plural

__all__ = ["OTHER", "Lane", "Marked", "Timeline", "timeline_of"]

_MOST_SINGLE = 12_000
_MOST_FAILED = 3_000
_MOST_THREAD_LANES = 400
_MOST_LANES = 2_000
_LONGEST_KEY = 100
_OUTCOMES = ("finished", "erred", "retried", "killed")

OTHER = 200
"""Index of "all other prefixes" in `Timeline.prefixes`."""


class Lane(msgspec.Struct, array_like=True):
    """One row of the picture: a worker's address, and which of its threads (or None)."""

    worker: str
    thread: int | None


class Marked(msgspec.Struct):
    """Executions drawn one by one, by column; times in µs since the axis began."""

    lane: list[int]
    start: list[int]
    begin: list[int]
    stop: list[int]
    transfer: list[int]
    prefix: list[int]
    outcome: list[int]
    key: list[str]


class Timeline(msgspec.Struct):
    """What the page draws, and the sentence that says how."""

    lanes: list[Lane]
    prefixes: list[str]
    marked: Marked
    grid: Grid | None
    said: str


def timeline_of(executions: pl.DataFrame, axis: Axis, lives: list[Life]) -> Timeline:
    """Return executions as lanes, rectangles and cells."""
    tasks = _executions(executions, axis)
    lanes, tasks = _laned(tasks, lives)
    prefixes, tasks = _prefixed(tasks)
    single, rest = _split(tasks)
    grid = grid_of(rest, axis, lanes, lives) if rest.height else None
    return Timeline(
        lanes=[Lane(worker, thread) for worker, thread in lanes],
        prefixes=prefixes,
        marked=_marked(single),
        grid=grid,
        said=_said(executions.height, tasks.height, single, rest, grid),
    )


def _executions(tasks: pl.DataFrame, axis: Axis) -> pl.DataFrame:
    computed = (pl.col("compute").fill_null(0.0) * 1e6).round().cast(pl.Int64)
    begin = pl.when(pl.col("outcome") == "killed").then(pl.col("start"))
    return (
        tasks.filter(pl.col("start").is_not_null() & pl.col("stop").is_not_null())
        .select(
            "key",
            "prefix",
            "worker",
            "thread",
            "outcome",
            micros_since(axis, "start").alias("start"),
            micros_since(axis, "stop").alias("stop"),
            (pl.col("transfer").fill_null(0.0) * 1e6).cast(pl.Int64),
            computed.alias("computed"),
        )
        .with_columns(
            # A thread is taken while it computes; transfers come before, beside others.
            begin.otherwise(
                pl.max_horizontal("start", pl.col("stop") - pl.col("computed"))
            ).alias("begin")
        )
    )


def _laned(
    tasks: pl.DataFrame, lives: list[Life]
) -> tuple[list[tuple[str, int | None]], pl.DataFrame]:
    """Give each execution the number of its lane."""
    order: dict[str, int] = {}
    for life in sorted(lives, key=lambda life: life.fate != "died"):
        order.setdefault(life.address, len(order))
    pairs = tasks.select("worker", "thread").unique().sort("worker", "thread")
    for worker in pairs["worker"].to_list():
        order.setdefault(worker, len(order))
    kept = set(sorted(order, key=order.__getitem__)[:_MOST_LANES])
    place = {life.address: number for number, life in enumerate(lives)}
    ranked = sorted(kept, key=lambda worker: (place.get(worker, len(place)), worker))
    threads: dict[str, list[int | None]] = {worker: [] for worker in ranked}
    if pairs.height <= _MOST_THREAD_LANES:
        for worker, thread in pairs.iter_rows():
            if thread is not None:
                threads[worker].append(thread)
    lanes = [(w, thread) for w in ranked for thread in (threads[w] or [None])]
    first: dict[str, int] = {}
    for number, (worker, _) in enumerate(lanes):
        first.setdefault(worker, number)
    numbered = {lane: number for number, lane in enumerate(lanes)}
    rows = [
        (worker, thread, numbered.get((worker, thread), first.get(worker)))
        for worker, thread in pairs.iter_rows()
    ]
    schema = {"worker": pl.String, "thread": pl.Int64, "lane": pl.Int64}
    table = pl.DataFrame(rows, schema=schema, orient="row")
    laned = tasks.join(table, on=["worker", "thread"], how="left", nulls_equal=True)
    return lanes, laned.filter(pl.col("lane").is_not_null())


def _prefixed(tasks: pl.DataFrame) -> tuple[list[str], pl.DataFrame]:
    """Give each execution the number of its prefix, those that took longest first."""
    totals = tasks.group_by("prefix").agg(
        (pl.col("stop") - pl.col("begin")).sum().alias("total")
    )
    totals = totals.sort("total", "prefix", descending=[True, False])
    numbers = totals.select(
        "prefix", pl.int_range(pl.len()).clip(0, OTHER).cast(pl.UInt8).alias("number")
    )
    names = [str(name) for name in totals["prefix"].head(OTHER)]
    return names, tasks.join(numbers, on="prefix", how="left", nulls_equal=True)


def _split(tasks: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    if tasks.height <= _MOST_SINGLE:
        return tasks, tasks.clear()
    failed = pl.col("outcome") != "finished"
    spans = tasks.select(
        failed.alias("failed"), (pl.col("stop") - pl.col("begin")).alias("length")
    ).with_row_index("row")
    chosen = pl.concat(
        [
            spans.filter("failed").top_k(_MOST_FAILED, by="length")["row"],
            spans.filter(~pl.col("failed")).top_k(_MOST_SINGLE, by="length")["row"],
        ]
    )
    mask = np.zeros(tasks.height, dtype=bool)
    mask[chosen.to_numpy()] = True
    single = pl.Series(mask)
    return tasks.filter(single), tasks.filter(~single)


def _marked(single: pl.DataFrame) -> Marked:
    single = single.sort("lane", "begin")
    outcomes = {word: number for number, word in enumerate(_OUTCOMES)}
    return Marked(
        lane=single["lane"].to_list(),
        start=single["start"].to_list(),
        begin=single["begin"].to_list(),
        stop=single["stop"].to_list(),
        transfer=single["transfer"].to_list(),
        prefix=single["number"].to_list(),
        outcome=[outcomes.get(word, 0) for word in single["outcome"]],
        key=[_short(key) for key in single["key"]],
    )


def _short(key: str) -> str:
    return key if len(key) <= _LONGEST_KEY else f"{key[: _LONGEST_KEY - 1]}…"


def _said(
    recorded: int,
    placed: int,
    single: pl.DataFrame,
    rest: pl.DataFrame,
    grid: Grid | None,
) -> str:
    if recorded == 0:
        return "No task ended in this run."
    if grid is None:
        said = f"{plural(placed, 'task execution')}, each drawn."
    else:
        longest = duration(float(str((rest["stop"] - rest["begin"]).max())) / 1e6)
        failed = single.filter(pl.col("outcome") != "finished").height
        grid_failed = rest.filter(pl.col("outcome") != "finished").height
        every = "all" if not grid_failed else f"{count(failed)} of"
        said = (
            f"{plural(placed, 'task execution')}: the {count(single.height - failed)} "
            f"longest and {every} {count(failed + grid_failed)} that failed are drawn one by "
            f"one; the other {count(rest.height)} (none longer than {longest}) are summed "
            f"in steps of {duration(grid.step / 1e6)}, coloured by the prefix that took "
            "most of the step, denser the busier it was."
        )
    if placed < recorded:
        missing = plural(recorded - placed, "more execution")
        said += f" {missing} cannot be placed (no times or too many workers)."
    return said
