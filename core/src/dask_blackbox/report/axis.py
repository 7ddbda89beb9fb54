"""The time axis that everything on one page shares."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from dask_blackbox.run_tables import RunTables

_LEAST = 0.001
_LARGEST_CLOCK_ERROR = 30 * 86400.0


class Axis(NamedTuple):
    """From when to when, in epoch seconds; never empty."""

    start: float
    stop: float

    @property
    def length(self) -> float:
        """Seconds."""
        return self.stop - self.start


def axis_of(run: RunTables) -> Axis:
    """Return the span from the run's beginning to the last thing known of it.

    What was long before the run (workers of a standing cluster) doesn't stretch it.
    """
    started = run.manifest.started
    ends = [
        started,
        run.ending.ended if run.ending else None,
        run.last_heartbeat if not run.ending else None,
        _epoch(run.tasks, "stop", last=True),
        _epoch(run.errors, "at", last=True),
        None if run.ending else _epoch(run.metrics, "at", last=True),
    ]
    starts = [started, _epoch(run.tasks, "start", last=False)]
    # A clock that is off by months would leave nothing to see.
    near = [
        at for at in starts if at is not None and at > started - _LARGEST_CLOCK_ERROR
    ]
    stops = [
        at for at in ends if at is not None and at < started + _LARGEST_CLOCK_ERROR
    ]
    start = min(near)
    return Axis(start, max(*stops, start + _LEAST))


def micros_since(axis: Axis, column: str) -> pl.Expr:
    """Return a column of moments as microseconds since the axis began."""
    origin = round(axis.start * 1e6)
    return pl.col(column).dt.epoch("us") - origin


def _epoch(frame: pl.DataFrame, column: str, *, last: bool) -> float | None:
    moments = frame[column].dt.epoch("us")
    found = moments.max() if last else moments.min()
    return None if found is None else int(str(found)) / 1e6
