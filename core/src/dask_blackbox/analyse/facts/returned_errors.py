"""Errors of tasks that came back as values: Dask takes such a task for one that finished.

joblib's Dask backend catches what a batch raises, returns it as the batch's result with its
traceback as text, and raises it in the driver.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import polars as pl

from dask_blackbox.analyse.facts.outcome import Outcome
from dask_blackbox.run import RunTables

__all__ = ["ReturnedError", "returned_error_of"]

_QUOTED = re.compile(
    r'_RemoteTraceback: \n"""\n(?P<text>Traceback .*?)\n?"""\n', re.DOTALL
)
_BATCH = re.compile(r'File "[^"]*joblib[/\\]_dask\.py", line \d+, in __call__')
_FUNCTION = re.compile(r"^(?:mixed_)?batch_of_(?P<name>.+)_\d+_calls$")
_FRAME = re.compile(r'File "[^"]+", line \d+, in (?P<name>\S+)')


class ReturnedError(NamedTuple):
    """The error of a task that returned it.

    Attributes:
        key: Of the task, where only one can be meant; else its prefix.
        prefix: Of the task.
        worker: Address of the worker; None if several tasks may be meant.
        at: When the task finished, or the driver raised the error, epoch seconds.
        exception: Qualified name of its class.
        message: Its text.
        traceback: As it was on the worker.
    """

    key: str
    prefix: str
    worker: str | None
    at: float
    exception: str
    message: str
    traceback: str


def returned_error_of(run: RunTables, outcome: Outcome) -> ReturnedError | None:
    """Return the error of a task that ended the driver's work as a value, if one did."""
    exception = outcome.exception
    quoted = None if exception is None else _QUOTED.search(exception.traceback)
    if exception is None or quoted is None or not _BATCH.search(quoted["text"]):
        return None
    names = set(_FRAME.findall(quoted["text"]))
    done = run.tasks.filter(
        (pl.col("outcome") == "finished")
        & pl.col("prefix").str.contains(_FUNCTION.pattern.replace("?P<name>", ""))
    ).sort("stop")
    named = [p for p in done["prefix"].unique(maintain_order=True) if _is_of(p, names)]
    own = done.filter(pl.col("prefix").is_in(named)) if named else done
    if not len(own):
        return None
    last = own.row(-1, named=True)
    only = len(own) == 1
    return ReturnedError(
        key=last["key"] if only else last["prefix"],
        prefix=last["prefix"],
        worker=last["worker"] if only else None,
        at=last["stop"].timestamp() if only else outcome.decided_at or 0.0,
        exception=exception.exception,
        message=exception.message,
        traceback=quoted["text"],
    )


def _is_of(prefix: str, names: set[str]) -> bool:
    """Say whether a batch calls one of some functions."""
    found = _FUNCTION.match(prefix)
    return found is not None and found["name"] in names
