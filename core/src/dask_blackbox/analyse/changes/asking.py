"""What a job's history says of a run: asked with what the rules have found in it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.changes.relevance import Accused
from dask_blackbox.analyse.changes.telling import Told, told_by
from dask_blackbox.analyse.sketching import sketch_of
from dask_blackbox.finding import Finding
from dask_blackbox.layout import safe
from dask_blackbox.sketch import Sketch

__all__ = ["accused_of", "told_of_run"]

_UNUSUAL = ("slower-than-usual", "more-memory-than-usual", "memory-forecast")


def told_of_run(
    case: Case, verdict: Finding | None, others: Sequence[Finding] = ()
) -> Told:
    """Return what changed since the last good run of a case, and what the past says.

    Of a run that went as ever, changes are not told.

    Args:
        case: The run, with its history.
        verdict: Why it failed, if it did.
        others: What else the rules have found.
    """
    sketch = sketch_of(case, verdict)
    good = case.history.last_good_for(sketch.run_id)
    unusual = case.failed or any(each.rule in _UNUSUAL for each in others)
    return told_by(
        case.history,
        sketch,
        accused_of(case, verdict),
        compare=None if good is None else _command(good, sketch),
        wanted=unusual,
    )


def accused_of(case: Case, verdict: Finding | None) -> Accused:
    """Return a verdict with the traceback behind it."""
    if verdict is None:
        return Accused()
    traceback = ""
    if case.blame.failure is not None:
        traceback = case.blame.failure.traceback
    if case.exception is not None:
        traceback = f"{traceback}\n{case.exception.traceback}"
    prefix = verdict.subject.prefix
    if prefix is None and verdict.subject.key:
        prefix = case.prefix_of(verdict.subject.key)
    return Accused(verdict, traceback, prefix)


def _command(good: Sketch, sketch: Sketch) -> str:
    runs = (
        f"{safe(each.job)}/{safe(each.run_id)}/{each.attempt}"
        for each in (good, sketch)
    )
    return shlex.join(["dask", "blackbox", "compare", *runs])
