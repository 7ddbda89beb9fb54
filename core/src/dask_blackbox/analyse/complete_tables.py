"""The tables of tasks and errors as they are stored and read: what one process alone did not report.

What a worker's death ended, and errors of tasks of which only the driver reported, have
rows, so that the tables have as many as a card counts.  Lines of notebooks are named as
the driver names them, for a worker knows no cells.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from dask_blackbox.analyse.facts.executions import executions_of
from dask_blackbox.analyse.facts.outcome import outcome_of
from dask_blackbox.analyse.failures import TaskFailure, failures_of, only_of_driver
from dask_blackbox.events import COLUMNS
from dask_blackbox.patterns import bounded
from dask_blackbox.run_tables import RunTables
from dask_blackbox.tables import frames_of

__all__ = ["completed"]


def completed(run: RunTables) -> RunTables:
    """Return a run with a row for each execution that ended, and for each task that failed."""
    tables = {"tasks": executions_of(run).select(run.tasks.columns)}
    if cells := _lines_of_cells(run):
        named = [_in_cells(each or "", cells) for each in run.errors["traceback"]]
        text = pl.Series("traceback", named, dtype=pl.String)
        run = run.with_tables({"errors": run.errors.with_columns(text)})
        tables["errors"] = run.errors
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


_UNNAMED = bounded(r'File "<dynamic-code>", line (?P<line>\d+), in (?P<name>\S+)')
_CELL = bounded(
    r'(?P<file>File "Cell [^"\n]+"), line (?P<line>\d+), in (?P<name>\S+)(?P<code>\n {4}[^\n]+)'
)


def _lines_of_cells(run: RunTables) -> dict[tuple[str, str], str]:
    """Return how the driver names lines of functions that notebooks define, by line and function."""
    exception = None if run.ending is None else run.ending.exception
    frames = () if exception is None else _CELL.finditer(exception.traceback)
    return {(each["line"], each["name"]): each[0] for each in frames}


def _in_cells(traceback: str, cells: Mapping[tuple[str, str], str]) -> str:
    """Return a traceback of a worker, which has no cells, with the lines that the driver names."""
    if not cells:
        return traceback
    return _UNNAMED.sub(
        lambda found: cells.get((found["line"], found["name"]), found[0]), traceback
    )
