"""All executions of tasks, counted once: those that ended, and those that ended with their worker.

The scheduler learns of an execution that killed its worker only that it is gone: it has no
times.  The report of the worker's exit knows when it began, so the two are one row
here.  Every count of tasks, in a figure, table, sentence or picture, includes these.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dask_blackbox.analyse.facts.worker_exit import WorkerExit
from dask_blackbox.analyse.facts.worker_exit_sources import deaths_of, worker_exits_of
from dask_blackbox.events import (
    COLUMNS,
    ExecutingTask,
    ResultCached,
    TaskFailedForHost,
    TaskNamed,
    TaskNotRun,
)
from dask_blackbox.formatting import prefix_of
from dask_blackbox.run_tables import RunTables
from dask_blackbox.tables import frames_of

OUTCOMES = ("finished", "erred", "retried", "killed", "released")
"""How an execution can end."""


class Counts(NamedTuple):
    """How many executions a run had.

    Attributes:
        executions: All of them.
        finished: Those that gave a result.
        erred: Those that raised, and whose task was not tried again.
        retried: Those that raised, and whose task was tried again.
        killed: Those that ended with their worker.
        released: Those whose result was no longer needed.
        seconds: For which they occupied threads, altogether.
    """

    executions: int
    finished: int
    erred: int
    retried: int
    killed: int
    released: int
    seconds: float


def executions_of(run: RunTables) -> pl.DataFrame:
    """Return the columns of `tasks`, one row per execution, and three more.

    `begin`: when it took its thread (transfers come before that); `seconds`: for how long
    it had it; `slot`: which of its worker's threads that was, from 0.  The three are null
    where the times are not known.  `compute` of an execution that was killed is the time
    until its worker's death.
    """
    return run.once(_executions)


def counts_of(run: RunTables) -> Counts:
    """Return how many executions the run had, by outcome."""
    return run.once(_counts)


def cached_keys_of(run: RunTables) -> frozenset[str]:
    """Return the keys of tasks whose result their host had in its cache."""
    return frozenset(each.subject for each in run.of(ResultCached))


def not_run_keys_of(run: RunTables) -> frozenset[str]:
    """Return the keys of tasks that their host did not run, because their inputs had failed."""
    return frozenset(each.subject for each in run.of(TaskNotRun))


def failed_keys_of(run: RunTables) -> frozenset[str]:
    """Return the keys of tasks whose host says that they failed, which Dask does not."""
    return frozenset(each.subject for each in run.of(TaskFailedForHost))


class FailedTaskRuns(NamedTuple):
    """How many of a host's task runs failed.

    Attributes:
        failed: Of them.
        known: How many the host had; None: not all are known.
    """

    failed: int
    known: int | None


def failed_task_runs_of(run: RunTables) -> FailedTaskRuns | None:
    """Return how many of the host's task runs failed; None: none did."""
    failed = failed_keys_of(run)
    if not failed:
        return None
    known = {each.subject for each in run.of(TaskNamed) if each.id}
    return FailedTaskRuns(len(failed), len(known) if failed <= known else None)


def _counts(run: RunTables) -> Counts:
    table = executions_of(run)
    by_outcome = dict(table["outcome"].value_counts().iter_rows())
    return Counts(
        executions=table.height,
        seconds=float(table["seconds"].sum() or 0.0),
        **{outcome: int(by_outcome.get(outcome, 0)) for outcome in OUTCOMES},
    )


def _executions(run: RunTables) -> pl.DataFrame:
    tasks = _with_what_deaths_ended(run)
    killed = pl.col("outcome") == "killed"
    micros = (pl.col("compute").fill_null(0.0) * 1e6).round().cast(pl.Int64)
    lasted = pl.col("stop") - pl.col("start")
    begin = (
        pl.when(killed)
        .then(pl.col("start"))
        .otherwise(
            pl.max_horizontal(
                "start", pl.col("stop") - pl.duration(microseconds=micros)
            )
        )
    )
    placed = pl.col("start").is_not_null() & pl.col("stop").is_not_null()
    tasks = tasks.with_columns(
        pl.when(placed).then(begin).alias("begin"),
        pl.when(killed & placed)
        .then(lasted.dt.total_microseconds() / 1e6)
        .otherwise(pl.col("compute"))
        .alias("compute"),
    ).with_columns(
        pl.when(placed)
        .then((pl.col("stop") - pl.col("begin")).dt.total_microseconds() / 1e6)
        .alias("seconds")
    )
    nthreads = {each.address: each.nthreads or 1 for each in worker_exits_of(run)}
    return tasks.with_columns(_slots(tasks, nthreads).alias("slot"))


def _with_what_deaths_ended(run: RunTables) -> pl.DataFrame:
    """Return the tasks; what dead workers were executing has its times, by their exit reports."""
    tasks = run.tasks
    ended = [(each, d) for d in deaths_of(run) for each in d.running if each.start]
    if not ended:
        return tasks
    timeless: dict[tuple[str, str], list[int]] = {}
    known: set[tuple[str, str]] = set()
    own = tasks.with_row_index("row").filter(pl.col("outcome") == "killed")
    for row, key, worker, start in own.select("row", "key", "worker", "start").rows():
        if start is None:
            timeless.setdefault((key, worker), []).append(row)
        else:
            known.add((key, worker))
    reported: dict[int, tuple[object, ...]] = {}
    more: list[tuple[object, ...]] = []
    for each, death in ended:
        rows = timeless.get((each.key, death.address))
        if rows:
            reported[rows.pop(0)] = _row(each, death)
        elif (each.key, death.address) not in known:
            more.append(_row(each, death))
    kept = tasks.with_row_index("row").filter(~pl.col("row").is_in(list(reported)))
    added = frames_of({"task": [*reported.values(), *more]})["tasks"].select(
        tasks.columns
    )
    return pl.concat([kept.drop("row"), added]).sort(
        "stop", nulls_last=True, maintain_order=True
    )


def _row(each: ExecutingTask, death: WorkerExit) -> tuple[object, ...]:
    start = each.start or death.at
    known = {
        "key": each.key,
        "prefix": prefix_of(each.key),
        "worker": death.address,
        "start": start,
        "stop": max(start, death.at),
        "outcome": "killed",
    }
    return tuple(known.get(column) for column in COLUMNS["task"])


def _slots(tasks: pl.DataFrame, nthreads: dict[str, int]) -> pl.Series:
    """Return which of its worker's threads each execution had, from 0.

    Threads that are known have a slot each, in the order of their first execution.  Of the
    others (retried attempts and killed ones do not say) each has the first one that was
    free for its whole time.
    """
    numbered = tasks.with_row_index("row").filter(pl.col("begin").is_not_null())
    limits = pl.DataFrame(
        {"worker": list(nthreads), "limit": list(nthreads.values())},
        schema={"worker": pl.String, "limit": pl.Int64},
    )
    ranks = (
        numbered.filter(pl.col("thread").is_not_null())
        .group_by("worker", "thread", maintain_order=True)
        .agg(pl.col("begin").min().alias("first"))
        .sort("worker", "first", "thread")
        .with_columns((pl.col("first").cum_count().over("worker") - 1).alias("rank"))
        .join(limits, on="worker", how="left")
        .filter(pl.col("rank") < pl.col("limit").fill_null(1).clip(1))
        .select("worker", "thread", pl.col("rank").cast(pl.Int64))
    )
    ranked = numbered.join(ranks, on=["worker", "thread"], how="left").sort("row")
    slots = np.full(tasks.height, -1, dtype=np.int64)
    slots[ranked["row"].to_numpy()] = ranked["rank"].fill_null(-1).to_numpy()
    homeless = set(ranked.filter(pl.col("rank").is_null())["worker"].unique())
    own = ranked.filter(pl.col("worker").is_in(list(homeless)))
    for _, part in own.group_by("worker", maintain_order=True):
        _place(part, slots)
    values = pl.Series("slot", slots)
    return values.set(values < 0, None)


def _place(part: pl.DataFrame, slots: NDArray[np.int64]) -> None:
    """Assign the first free slot to each execution of a worker that has none."""
    columns = part.select(
        "row", pl.col("begin").dt.epoch("us"), pl.col("stop").dt.epoch("us"), "rank"
    ).sort("begin", "row")
    occupied: list[list[tuple[int, int]]] = []
    for _, begin, stop, rank in columns.iter_rows():
        if rank is not None:
            while len(occupied) <= rank:
                occupied.append([])
            occupied[rank].append((begin, stop))
    for row, begin, stop, rank in columns.iter_rows():
        if rank is not None:
            continue
        slot = next(
            (n for n, own in enumerate(occupied) if _free(own, begin, stop)), None
        )
        if slot is None:
            slot = len(occupied)
            occupied.append([])
        insort(occupied[slot], (begin, stop))
        slots[row] = slot


def _free(occupied: list[tuple[int, int]], begin: int, stop: int) -> bool:
    place = bisect_left(occupied, (begin, begin))
    before = place == 0 or occupied[place - 1][1] <= begin
    return before and (place == len(occupied) or occupied[place][0] >= stop)
