"""The tables of tasks and errors as they are stored and read: what one process alone did not report.

What a worker's death ended, and errors of tasks of which only the driver reported, have
rows, so that the tables have as many as a card counts.
"""

from __future__ import annotations

import polars as pl

from dask_blackbox.analyse.facts.executions import executions_of
from dask_blackbox.analyse.facts.outcome import outcome_of
from dask_blackbox.analyse.failures import TaskFailure, failures_of, only_of_driver
from dask_blackbox.events import COLUMNS
from dask_blackbox.run_tables import RunTables
from dask_blackbox.tables import frames_of

__all__ = ["completed"]


def completed(run: RunTables) -> RunTables:
    """Return a run with a row for each execution that ended, and for each task that failed."""
    tables = {"tasks": executions_of(run).select(run.tasks.columns)}
    if more := only_of_driver(run, failures_of(run), outcome_of(run)):
        added = frames_of({"error": [_row(each) for each in more]})["errors"]
        errors = pl.concat([run.errors, added.select(run.errors.columns)])
        tables["errors"] = errors.sort("at", nulls_last=True, maintain_order=True)
    return run.with_tables(tables)


def _row(failure: TaskFailure) -> tuple[object, ...]:
    known = {
        "at": failure.at,
        "key": failure.key,
        "prefix": failure.prefix,
        "worker": failure.worker,
        "outcome": "erred",
        "exception": failure.exception,
        "message": failure.message,
        "traceback": failure.traceback,
        "bases": ", ".join(failure.bases) or None,
    }
    return tuple(known.get(column) for column in COLUMNS["error"])
