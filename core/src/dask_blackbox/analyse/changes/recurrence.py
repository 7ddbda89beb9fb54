"""Failures of the same kind in a job's history, by their fingerprints alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from dask_blackbox.earlier_runs import EarlierTry, Seen
from dask_blackbox.layout import SketchName
from dask_blackbox.sketch import Sketch

_DIGITS = 8  # that a name holds


def alike(name: SketchName, fingerprint: str) -> bool:
    """Say whether the run of this name failed with this fingerprint."""
    return (
        name.fingerprint is not None
        and not name.stopped
        and name.fingerprint[:_DIGITS] == fingerprint[:_DIGITS]
    )


def seen_before(sketch: Sketch, names: Sequence[SketchName]) -> Seen | None:
    """Return how often a failure like this one's has been seen; None if none was.

    Args:
        names: The runs before it, the newest first.
    """
    if sketch.fingerprint is None:
        return None
    fingerprint = sketch.fingerprint.id
    before = [each for each in names if alike(each, fingerprint)]
    moments = [each.started_ms / 1000 for each in before]
    return Seen(
        fingerprint=fingerprint,
        basis=sketch.fingerprint.basis,
        times=len(before) + 1,
        first=min([*moments, sketch.started]),
        last=max(moments, default=None),
        in_a_row=1 + sum(1 for _ in _run_of(names, fingerprint)),
    )


def tries_of(sketch: Sketch, names: Sequence[SketchName]) -> tuple[EarlierTry, ...]:
    """Return what became of the attempts of a run before this one, if this one failed.

    Args:
        names: Of those before it, the first one first.
    """
    if sketch.fingerprint is None:
        return ()
    fingerprint = sketch.fingerprint.id
    return tuple(
        EarlierTry(
            attempt=each.address.attempt,
            state=each.state,
            verdict=each.verdict,
            alike=alike(each, fingerprint),
        )
        for each in names
    )


def _run_of(names: Sequence[SketchName], fingerprint: str) -> Iterator[SketchName]:
    # What was stopped from outside neither failed nor succeeded.
    judged = (each for each in names if not each.stopped)
    return takewhile(lambda each: alike(each, fingerprint), judged)
