"""What a job's history says of a run: asked with what the rules have found in it."""

from __future__ import annotations

from collections.abc import Sequence

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.changes.for_card import CardChanges, changes_on_card
from dask_blackbox.analyse.changes.relevance import VerdictContext
from dask_blackbox.analyse.sketching import sketch_of
from dask_blackbox.commandline import command, store_of
from dask_blackbox.finding import Finding
from dask_blackbox.layout import STOPPED_BY_HOST, safe
from dask_blackbox.sketch import Sketch

__all__ = ["changes_of_run", "verdict_context"]

_UNUSUAL = ("slower-than-usual", "more-memory-than-usual", "memory-forecast")


def changes_of_run(
    case: Case, verdict: Finding | None, others: Sequence[Finding] = ()
) -> CardChanges:
    """Return what changed since the last good run of a case, and what the past says.

    Of a run that succeeded as usual, what changed is listed, and nothing is blamed.

    Args:
        case: The run, with its history.
        verdict: Why it failed, if it did.
        others: What else the rules have found.
    """
    sketch = sketch_of(case, verdict)
    good = case.history.last_good_for(sketch.run_id)
    # Who stopped the run is known: nothing that changed is the cause.
    stopped = verdict is not None and verdict.rule == STOPPED_BY_HOST
    blames = (case.failed and not stopped) or any(
        each.rule in _UNUSUAL for each in others
    )
    return changes_on_card(
        case.history,
        sketch,
        verdict_context(case, verdict),
        compare=None if good is None else _command(good, sketch, case.run.url),
        blames=blames,
    )


def verdict_context(case: Case, verdict: Finding | None) -> VerdictContext:
    """Return a verdict with the traceback behind it."""
    if verdict is None:
        return VerdictContext()
    traceback = ""
    if case.blame.failure is not None:
        traceback = case.blame.failure.traceback
    if case.exception is not None:
        traceback = f"{traceback}\n{case.exception.traceback}"
    prefix = verdict.subject.prefix
    if prefix is None and verdict.subject.key:
        prefix = case.prefix_of(verdict.subject.key)
    return VerdictContext(verdict, traceback, prefix)


def _command(good: Sketch, sketch: Sketch, url: str | None) -> str:
    runs = (
        f"{safe(each.job)}/{safe(each.run_id)}/{each.attempt}"
        for each in (good, sketch)
    )
    return command("compare", *runs, store=store_of(url))
