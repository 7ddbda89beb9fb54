"""The earlier runs of a job that were read, and failures of the same kind among them.

Earlier means started earlier, by the clock: code, packages and clusters change with it.
Attempts of a run count as one run, represented by the last attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import TypeVar

from dask_blackbox.formatting import counted, listed
from dask_blackbox.job_history import EarlierAttempt, Note, Recurrence
from dask_blackbox.layout import RunAddress, SketchName
from dask_blackbox.patterns import bounded
from dask_blackbox.sketch import Sketch

_MAPPED = bounded(r"\.map(\d+)(?:-[0-9a-f]{8})?$")
_Of = TypeVar("_Of")
_RANK = ("lost", "aborted", "failed", "succeeded")


@dataclass(frozen=True, kw_only=True)
class History:
    """What is known of the runs before one run.

    Attributes:
        names: The names of all sketches, the newest first, one for each run.
        sketches: Those that were read, the newest first.
        unreadable: How many could not be read.
        more: There are more runs than these; the time to look was over.
        tries: The names of this run's earlier attempts, the first one first.
        attempts: The names of all attempts of the runs before it.
        siblings: The other instances of the same mapped task that have ended and were read.
        instances: Those of its earlier runs, of any index, that ended well and were read, the
            newest first.
        notes: What was written about runs of the job, the newest first.
    """

    names: tuple[SketchName, ...] = ()
    sketches: tuple[Sketch, ...] = ()
    unreadable: int = 0
    more: bool = False
    tries: tuple[SketchName, ...] = ()
    attempts: tuple[SketchName, ...] = ()
    siblings: tuple[Sketch, ...] = ()
    instances: tuple[Sketch, ...] = ()
    notes: tuple[Note, ...] = ()

    @cached_property
    def last_good(self) -> Sketch | None:
        """The newest earlier run that ended well.

        Of runs that are no backfill, if there is one: those read old data on purpose.
        """
        good = [sketch for sketch in self.sketches if sketch.good]
        regular = [sketch for sketch in good if not is_backfill(sketch.run_id)]
        return next(iter(regular or good), None)

    @cached_property
    def good(self) -> tuple[Sketch, ...]:
        """The runs that ended well, the newest first."""
        return tuple(sketch for sketch in self.sketches if sketch.good)

    def last_good_for(self, run_id: str) -> Sketch | None:
        """Return the newest good run to compare a run with: a backfill with any of them."""
        if is_backfill(run_id):
            return next(iter(self.good), None)
        return self.last_good


def is_backfill(run_id: str) -> bool:
    """Return whether a run works off old data on purpose, by its name in Airflow or Prefect."""
    return run_id.lower().startswith("backfill")


def of_one_series(names: Sequence[SketchName], run: str) -> list[SketchName]:
    """Return the runs that a run can be compared with.

    Airflow's mapped task instances are runs of one job, and each has its own piece of
    the work: the third is compared with the third of other days, if there is one.

    Args:
        names: Of the runs before it.
        run: Its id, in its safe form.
    """
    index = _mapped(run)
    alike = [each for each in names if _mapped(each.address.run) == index]
    return alike or list(names)


def is_mapped(run: str) -> bool:
    """Return whether a run is an instance of a mapped task, by its id."""
    return _mapped(run) is not None


def siblings_among(names: Iterable[SketchName], run: str) -> list[SketchName]:
    """Return the other instances of the mapped task that a run is an instance of.

    Args:
        names: Of runs of the job.
        run: Its id, in its safe form.
    """
    whole = whole_run(run)
    others = (each for each in names if each.address.run != run)
    return one_per_run(
        each
        for each in others
        if is_mapped(each.address.run) and whole_run(each.address.run) == whole
    )


def good_instances_among(
    names: Iterable[SketchName], run: str, *, backfill: bool
) -> list[SketchName]:
    """Return the instances of a mapped task's other runs that ended well.

    Args:
        names: Of runs of the job.
        run: Id of one instance, in its safe form.
        backfill: Whether backfills count.
    """
    whole = whole_run(run)
    return [
        each
        for each in one_per_run(names)
        if each.state == "succeeded"
        and is_mapped(each.address.run)
        and whole_run(each.address.run) != whole
        and (backfill or not is_backfill(each.address.run))
    ]


def whole_run(run: str) -> str:
    """Return the id of the run that an instance of a mapped task belongs to."""
    return _MAPPED.sub("", run)


def siblings_text(own: Sketch, siblings: Sequence[Sketch]) -> str:
    """Return how other instances of a mapped task ended, and what only this one has."""
    if not siblings:
        return ""
    good = sum(each.good for each in siblings)
    text = f"{good} of {counted(len(siblings) + 1, 'instance')} of this task succeeded so far"
    kind = "parameters"
    others = [each.facts.get(kind, {}) for each in siblings]
    only = [
        f"{name}={value}"
        for name, value in sorted(own.facts.get(kind, {}).items())
        if all(each.get(name) != value for each in others)
    ]
    return (
        f"{text}; only this one has {listed(only, most=3)}" if only and good else text
    )


def _mapped(run: str) -> str | None:
    found = _MAPPED.search(run)
    return None if found is None else found[1]


def one_per_run(names: Iterable[SketchName]) -> list[SketchName]:
    """Return one name for each run, in the order of their first: its last attempt.

    Where an attempt has two sketches (it was uploaded after it had been diagnosed
    what was there), the one that knows more of its end counts.
    """
    return list(_best_known(names, lambda each: each.address[:2]).values())


def tries_before(names: Iterable[SketchName], own: RunAddress) -> list[SketchName]:
    """Return one name for each attempt of a run before this one, the first one first."""
    tries = (each for each in names if each.address[:2] == own[:2])
    before = (each for each in tries if each.address.attempt < own.attempt)
    chosen = _best_known(before, lambda each: each.address.attempt)
    return [chosen[attempt] for attempt in sorted(chosen)]


def _best_known(
    names: Iterable[SketchName], of: Callable[[SketchName], _Of]
) -> dict[_Of, SketchName]:
    """Return the name that knows most of each run, or attempt, in the order of their first."""
    chosen: dict[_Of, SketchName] = {}
    for each in names:
        known = chosen.get(of(each))
        if known is None or _knows(each) > _knows(known):
            chosen[of(each)] = each
    return chosen


def _knows(name: SketchName) -> tuple[int, int]:
    rank = _RANK.index(name.state) if name.state in _RANK else -1
    return (name.address.attempt, rank)


def by_start(sketches: Sequence[Sketch]) -> list[Sketch]:
    """Return sketches by their start, the oldest first."""
    return sorted(sketches, key=lambda sketch: sketch.started)


_DIGITS = 8  # that a name holds


def alike(name: SketchName, fingerprint: str) -> bool:
    """Return whether the run of this name failed with this fingerprint."""
    return not name.stopped and is_alike(name.fingerprint, fingerprint)


def is_alike(fingerprint: str | None, other: str | None) -> bool:
    """Return whether two failures are of the same kind, by the beginnings of their fingerprints."""
    if fingerprint is None or other is None:
        return False
    return fingerprint[:_DIGITS] == other[:_DIGITS]


def notes_for(sketch: Sketch, notes: Sequence[Note]) -> tuple[Note, ...]:
    """Return the notes on a run and on failures of the same kind.

    Args:
        notes: On runs of its job.
    """
    own = None if sketch.fingerprint is None else sketch.fingerprint.id
    run = RunAddress.of_run(sketch)
    mine = f"{run.job}/{run.run}/"
    return tuple(
        each
        for each in notes
        if each.run.startswith(mine) or is_alike(each.fingerprint, own)
    )


def seen_before(sketch: Sketch, names: Sequence[SketchName]) -> Recurrence | None:
    """Return how often a failure like this one's has been seen; None if none was.

    Args:
        names: The runs before it, the newest first.
    """
    if sketch.fingerprint is None:
        return None
    fingerprint = sketch.fingerprint.id
    before = [each for each in names if alike(each, fingerprint)]
    moments = [each.started_ms / 1000 for each in before]
    return Recurrence(
        fingerprint=fingerprint,
        basis=sketch.fingerprint.basis,
        times=len(before) + 1,
        first=min([*moments, sketch.started]),
        last=max(moments, default=None),
        in_a_row=1 + sum(1 for _ in _run_of(names, fingerprint)),
    )


def tries_of(sketch: Sketch, names: Sequence[SketchName]) -> tuple[EarlierAttempt, ...]:
    """Return what became of the attempts of a run before this one, if this one failed.

    Args:
        names: Of those before it, the first one first.
    """
    if sketch.fingerprint is None:
        return ()
    fingerprint = sketch.fingerprint.id
    return tuple(
        EarlierAttempt(
            attempt=each.address.attempt,
            state=each.state,
            verdict=each.verdict,
            same_failure=alike(each, fingerprint),
        )
        for each in names
    )


def _run_of(names: Sequence[SketchName], fingerprint: str) -> Iterator[SketchName]:
    # What was stopped from outside neither failed nor succeeded.
    judged = (each for each in names if not each.stopped)
    return takewhile(lambda each: alike(each, fingerprint), judged)
