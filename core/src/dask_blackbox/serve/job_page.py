"""A job at a glance: its runs on a time axis, its failures, and what changed when."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from dask_blackbox import formatting
from dask_blackbox.analyse.comparing import comparison_of
from dask_blackbox.job_history import JobHistory, PastRun
from dask_blackbox.layout import safe
from dask_blackbox.reader.earlier_runs import read_sketches, sketched_runs
from dask_blackbox.report import card_words as words
from dask_blackbox.store import Store

__all__ = ["Changed", "Chart", "changes_between_runs", "charts_of"]

_WIDTH, _HEIGHT, _LEFT = 1000, 90, 70
_COMPARED, _TIMEOUT = 31, 3.0
_MOST_CHANGES = 3

_MEASURES = (
    ("duration", "Duration", formatting.duration),
    ("peak_memory", "Peak memory of a worker", formatting.exact_size),
    ("input_bytes", "Input", formatting.exact_size),
)


class Dot(NamedTuple):
    """A run in a chart: its place in pixels, its state, its name, and what it says."""

    x: float
    y: float
    state: str
    run: str
    said: str


class Chart(NamedTuple):
    """A measure of all runs, the oldest at the left; `line` is a polyline's points."""

    heading: str
    most: str
    dots: list[Dot]
    line: str


class Changed(NamedTuple):
    """What was not as in the run before: where, which run, and what."""

    x: float
    run: str
    said: tuple[str, ...]


def charts_of(history: JobHistory) -> list[Chart]:
    """Return a chart of each measure that at least two runs have."""
    runs = history.runs[::-1]
    charts = []
    for name, heading, shown in _MEASURES:
        values = [getattr(run, name) for run in runs]
        known = [value for value in values if value is not None]
        if len(known) < 2:  # noqa: PLR2004 - one is no course
            continue
        most = max(known) or 1
        dots = [
            Dot(
                x,
                _y(value, most),
                run.state,
                run.run,
                f"{run.run}: {shown(value)}, {run.state}",
            )
            for x, run, value in zip(_places(runs), runs, values, strict=True)
            if value is not None
        ]
        line = " ".join(f"{dot.x:.1f},{dot.y:.1f}" for dot in dots)
        charts.append(Chart(heading, shown(most), dots, line))
    return charts


def _y(value: float, most: float) -> float:
    return round(_HEIGHT - 8 - value / most * (_HEIGHT - 20), 1)


def _places(runs: tuple[PastRun, ...]) -> list[float]:
    step = (_WIDTH - _LEFT - 20) / max(1, len(runs) - 1)
    return [round(_LEFT + 10 + place * step, 1) for place in range(len(runs))]


def changes_between_runs(store: Store, history: JobHistory) -> list[Changed]:
    """Return what changed from each run to the next, of the newest runs; newest first.

    Raises:
        StoreError: if the store cannot be read.
    """
    shown = history.runs[:_COMPARED]
    wanted = {run.run for run in shown}
    names = [
        each
        for each in sketched_runs(store, safe(history.job))
        if "/".join(map(str, each.address)) in wanted
    ]
    sketches = read_sketches(store, names[: 2 * _COMPARED], timeout=_TIMEOUT)
    by_run = {
        "/".join(map(str, each.address)): sketches.get(each.name) for each in names
    }
    places = dict(
        zip((run.run for run in history.runs[::-1]), _places(history.runs), strict=True)
    )
    found = []
    for after, before in pairwise(shown):
        old, new = by_run.get(before.run), by_run.get(after.run)
        if old is None or new is None:
            continue
        changes = comparison_of(old, new).changes
        if changes:
            said = [
                formatting.plain(words.change_words(each))
                for each in changes[:_MOST_CHANGES]
            ]
            if len(changes) > _MOST_CHANGES:
                said.append(f"+{len(changes) - _MOST_CHANGES} more")
            found.append(Changed(places[after.run], after.run, tuple(said)))
    return found
