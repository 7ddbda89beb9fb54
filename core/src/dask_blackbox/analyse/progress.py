"""The progress of the tasks when the driver gave up waiting, and the time for the rest."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.events import GraphUpdated
from dask_blackbox.formatting import counted, duration, quoted
from dask_blackbox.run_tables import FINISHED, RunTables, epoch

_RECENT = 5.0
_ESTIMATED = 0.05  # seconds by which workers misjudge the delay of their clocks
_FEW = 3
_SHARE = 0.3
_STEADY = 10
"""After so many graphs, one by one, another one is expected within the longest pause."""


class Pace(NamedTuple):
    """The progress of the tasks.

    Attributes:
        done: How many tasks had ended.
        sent: How many there were.
        rest: Seconds that the others need at the same pace.
        sentence: That, without its full stop.
        submitting: Whether the driver was still submitting more.
    """

    done: int
    sent: int
    rest: float
    sentence: str
    submitting: bool


def pace_of(case: Case) -> Pace | None:
    """Return the progress until the driver's work ended; None without any, or if all was done."""
    end = case.outcome.decided_at
    if end is None or case.standstill is not None:
        return None
    finished = finished_by(case.run, end)
    done = finished["key"].n_unique()
    graphs = case.run.of(GraphUpdated)
    sent = sum(map(new_tasks, graphs))
    begun, last = _seconds(finished["start"].min()), _seconds(finished["stop"].max())
    if begun is None or last is None or not 0 < done < sent:
        return None
    took, idle = end - begun, end - last
    if took <= 0 or idle > max(_RECENT, _SHARE * took):
        return None
    rest = took / done * (sent - done)
    submitting = _was_submitting([each.at for each in graphs], end)
    submitted, others, more = "", "the others need", ""
    if submitting:
        submitted, others = " submitted so far", "the others of these need"
        more = ", and the driver was still submitting tasks"
    sentence = (
        f"Tasks were progressing: {done:,} of "
        f"{counted(sent, 'task')}{_of(case)}{submitted} had ended, the last of them "
        f"{duration(max(idle, 0.0))} earlier; at that rate, {others} about "
        f"{duration(rest)} more{more}"
    )
    return Pace(done, sent, rest, sentence, submitting)


def _was_submitting(moments: Sequence[float], end: float) -> bool:
    """Return whether the driver was submitting graphs, one by one, until the end."""
    last = sorted(moments)[-_STEADY - 1 :]
    pauses = [b - a for a, b in pairwise(last)]
    return len(pauses) == _STEADY and end - last[-1] <= max(pauses)


def finished_by(run: RunTables, moment: float) -> pl.DataFrame:
    """Return the executions that had finished by a moment, given in epoch seconds.

    A worker estimates by how much its clock differs: what a driver has received may seem to
    finish a little later.
    """
    return run.tasks.filter(FINISHED & (epoch("stop") <= moment + _ESTIMATED))


def _of(case: Case) -> str:
    """Return of which prefixes the tasks of all graphs are, if these are few."""
    graphs = case.run.of(GraphUpdated)
    names = list(dict.fromkeys(name for graph in graphs for name in graph.new))
    return f" of {quoted(names)}" if 0 < len(names) <= _FEW else ""


def new_tasks(graph: GraphUpdated) -> int:
    """Return how many tasks a graph brought; those that it names again are none of them."""
    return sum(each.tasks for each in graph.new.values()) or graph.tasks


def _seconds(moment: object) -> float | None:
    return moment.timestamp() if isinstance(moment, datetime) else None
