"""All task executions: those that ended, and those that ended with their worker.

The scheduler never hears of an execution that killed its worker, so no task stream shows
it.  The death certificate names it, with its start; here it takes its place.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from dask_blackbox.analyse.words import prefix_of
from dask_blackbox.events import COLUMNS
from dask_blackbox.report.lives import Life
from dask_blackbox.run import RunTables
from dask_blackbox.tables import frames_of

__all__ = ["executions_of"]


def executions_of(run: RunTables, lives: list[Life]) -> pl.DataFrame:
    """Return the table `tasks`, with what dead workers were executing as `killed`."""
    tasks = run.tasks
    dead = [life for life in lives if life.running]
    if not dead:
        return tasks
    own = tasks.filter(pl.col("worker").is_in([life.address for life in dead]))
    killed = own.filter(pl.col("outcome") == "killed")
    known = set(killed.select("key", "worker").iter_rows())
    rows: list[tuple[Any, ...]] = []
    for life in dead:
        free = _threads(own.filter(pl.col("worker") == life.address))
        for key, start in life.running:
            if start is None or (key, life.address) in known:
                continue
            thread = free.pop(0) if free else None
            rows.append(_row(key, life, start, thread))
    if not rows:
        return tasks
    return pl.concat([tasks, frames_of({"task": rows})["tasks"].select(tasks.columns)])


def _threads(own: pl.DataFrame) -> list[int]:
    """Return a worker's threads, those first that have been idle longest."""
    last = own.group_by("thread").agg(pl.col("stop").max()).sort("stop", "thread")
    return last["thread"].drop_nulls().to_list()


def _row(key: str, life: Life, start: float, thread: int | None) -> tuple[Any, ...]:
    known = {
        "key": key,
        "prefix": prefix_of(key),
        "worker": life.address,
        "thread": thread,
        "start": start,
        "stop": max(start, life.left or start),
        "outcome": "killed",
    }
    return tuple(known.get(column) for column in COLUMNS["task"])
