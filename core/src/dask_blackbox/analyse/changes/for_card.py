"""The changes and the history that a card shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.changes.attribution import (
    Attribution,
    listed_changes,
    ranked_changes,
)
from dask_blackbox.analyse.changes.ranking import Ranked, VerdictContext
from dask_blackbox.analyse.earlier_runs import (
    History,
    notes_for,
    seen_before,
    siblings_text,
    tries_of,
)
from dask_blackbox.analyse.mapped_instances import good_run_for
from dask_blackbox.analyse.sketching import sketch_of
from dask_blackbox.finding import Change, Finding
from dask_blackbox.formatting import command, short, store_of
from dask_blackbox.job_history import EarlierRun, Past
from dask_blackbox.layout import STOPPED_BY_HOST, RunAddress
from dask_blackbox.sketch import Sketch

_UNUSUAL = ("slower-than-usual", "more-memory-than-usual", "memory-forecast")


def changes_of_run(
    case: Case, verdict: Finding | None, others: Sequence[Finding] = ()
) -> CardChanges:
    """Return what changed since the last good run of a case, and its history.

    Of a run that succeeded as usual, what changed is listed, and nothing is blamed.

    Args:
        others: What else the rules have found.
    """
    sketch = sketch_of(case, verdict)
    good = good_run_for(case.history, sketch)
    # Who stopped the run is known: nothing that changed is the cause.
    stopped = verdict is not None and verdict.rule == STOPPED_BY_HOST
    blames = (case.failed and not stopped) or any(
        each.rule in _UNUSUAL for each in others
    )
    compare = None
    if good is not None:
        runs = (RunAddress.of_run(each).name for each in (good, sketch))
        compare = command("compare", *runs, store=store_of(case.run.url))
    return changes_on_card(
        case.history,
        sketch,
        verdict_context(case, verdict),
        compare=compare,
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


_MOST = 100
_MOST_HABITS = 10
_MOST_NOTES = 5
_LONGEST = 200
_MOST_EXPLAINED = 30


class CardChanges(NamedTuple):
    """What changed since the last good run, and the history.

    Attributes:
        changes: The changes, the most telling first.
        past: The history, with what is blamed.
        root: The change that the verdict follows from, if one is named.
    """

    changes: tuple[Change, ...]
    past: Past
    root: Change | None = None


def changes_on_card(
    history: History,
    sketch: Sketch,
    context: VerdictContext,
    *,
    compare: str | None = None,
    blames: bool = True,
) -> CardChanges:
    """Return the changes of a run and its history from the job's earlier runs.

    Args:
        compare: A command that compares it with the last good run.
        blames: Whether a cause is asked for: the run failed, or was slower than usual.
    """
    good = good_run_for(history, sketch)
    past = Past(
        runs=len(history.names),
        more=history.more,
        compared=len(history.sketches),
        unreadable=history.unreadable,
        good=sum(name.state == "succeeded" for name in history.names),
        stopped=sum(name.stopped for name in history.names),
        recurrence=seen_before(sketch, history.names),
        attempts=tries_of(sketch, history.tries),
        notes=notes_for(sketch, history.notes)[:_MOST_NOTES],
        siblings="" if sketch.good else siblings_text(sketch, history.siblings),
    )
    if good is None:
        return CardChanges((), _replace(past, summary=_no_good_run_text(past)))
    found = ranked_changes(good, sketch, context, history.sketches)
    if blames:
        of = found.blamed()
    elif found.changes:
        of = Attribution(*listed_changes(found.changes), "high")
    else:
        return CardChanges((), past)
    past = _replace(
        past,
        last_good=EarlierRun(
            run_id=good.run_id,
            attempt=good.attempt,
            started=good.started,
            duration=good.duration,
        ),
        blame=of.blame,
        summary=of.text,
        confidence=of.confidence,
        habits=tuple(
            f"{each.change.kind} {each.change.what}"
            for each in found.habits[:_MOST_HABITS]
        ),
        compare=compare,
    )
    root = next(iter(as_changes([of.root])), None) if of.root else None
    return CardChanges(as_changes(found.changes[:_MOST]), past, root)


def _replace(past: Past, **fields: object) -> Past:
    return msgspec.structs.replace(past, **fields)


def _no_good_run_text(past: Past) -> str:
    if not past.runs:
        return "This is the first recorded run of this job."
    if past.more or past.unreadable:
        return "None of the earlier runs that were read succeeded."
    return "No earlier run of this job succeeded, so there is none to compare with."


def as_changes(found: Sequence[Ranked]) -> tuple[Change, ...]:
    """Return changes as cards have them; a diff of the same function is in one of them."""
    shown: set[str] = set()
    return tuple(_as_change(each, shown) for each in found)


def _as_change(each: Ranked, shown: set[str]) -> Change:
    change = each.change
    diff = None if change.diff in shown else change.diff
    if diff is not None:
        shown.add(diff)
    after = change.after
    if after is not None:
        # Of code its place, too: a hash is no use to a reader.
        place = f" ({change.where})" if change.where else ""
        after = short(f"{after}{place}", _LONGEST)
    return Change(
        kind=change.kind,
        what=short(change.what, _LONGEST),
        before=None if change.before is None else short(change.before, _LONGEST),
        after=after,
        rarity=None if each.rarity is None else round(each.rarity, 4),
        why=each.why,
        diff=diff,
        explains=tuple(
            _as_change(other, shown) for other in each.explains[:_MOST_EXPLAINED]
        ),
    )
