"""Two runs side by side: changes, numbers and prefixes, of `compare` and the viewer."""

from __future__ import annotations

import msgspec

from dask_blackbox.analyse import Case, History
from dask_blackbox.analyse.changes.attribution import ranked_changes
from dask_blackbox.analyse.changes.for_card import as_changes, verdict_context
from dask_blackbox.analyse.changes.prefixes import renamed
from dask_blackbox.analyse.changes.ranking import VerdictContext
from dask_blackbox.analyse.earlier_runs import one_per_run
from dask_blackbox.analyse.sketching import sketch_of
from dask_blackbox.errors import RunNotFoundError
from dask_blackbox.finding import Change
from dask_blackbox.job_history import Past
from dask_blackbox.layout import safe
from dask_blackbox.manifest import Manifest
from dask_blackbox.patterns import bounded
from dask_blackbox.reader.earlier_runs import earlier_runs, sketched_runs
from dask_blackbox.reader.run_lookup import find_run
from dask_blackbox.sketch import PrefixSketch, Sketch, read_sketch
from dask_blackbox.store import Store


class ComparedRun(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two.

    Attributes:
        job: Job name; runs of one job are compared.
        run_id: Run id. Default: derived from host and start time.
        attempt: Which try of it.
        state: How it ended.
        started: Epoch seconds.
        duration: Seconds, if known.
        verdict: The rule that explains its failure.
        title: What that says, in a line.
        fingerprint: Of the failure.
    """

    job: str
    run_id: str
    attempt: int
    state: str
    started: float
    duration: float | None = None
    verdict: str | None = None
    title: str | None = None
    fingerprint: str | None = None


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """A number of both runs.

    Attributes:
        name: As on a card, or of a prefix.
        before: Of the first run; null: not known.
        after: Of the second.
    """

    name: str
    before: float | None
    after: float | None

    @property
    def times(self) -> float | None:
        """The second divided by the first; None if that is meaningless."""
        if not self.before or self.after is None:
            return None
        return self.after / self.before


class PrefixPair(msgspec.Struct, frozen=True, kw_only=True):
    """The tasks of a prefix in both runs.

    Attributes:
        name: The prefix; of one that was renamed, `old → new`.
        measured: `tasks`, `compute` (seconds of all), `seconds` and `nbytes` (of one, in
            the middle), `memory` (of its workers, the high end), by name.
        cost: Seconds of computing that the second run spent more.
    """

    name: str
    measured: dict[str, Measured]
    cost: float


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Everything in which two runs differ.

    Attributes:
        before: The first.
        after: The second.
        changes: What is not as it was, the most relevant first.
        past: What the history of the second says, where both are of one job.
        unknown: Kinds of facts that one of the two has no facts about.
        numbers: The measures of both.
        prefixes: Tasks by prefix, those that changed most first.
    """

    before: ComparedRun
    after: ComparedRun
    changes: tuple[Change, ...] = ()
    past: Past | None = None
    unknown: tuple[str, ...] = ()
    numbers: tuple[Measured, ...] = ()
    prefixes: tuple[PrefixPair, ...] = ()

    @property
    def note(self) -> str:
        """A sentence on the choice of the two, if it decides what a comparison can show."""
        one, other = self.before, self.after
        if one.job != other.job:
            return (
                "These are runs of different jobs: what differs need not be a change."
            )
        same = (one.run_id, one.attempt) == (other.run_id, other.attempt)
        return "These are the same run, so nothing can differ." if same else ""

    @property
    def nothing(self) -> str:
        """What is said if there is no change: of what could not be compared, nothing."""
        if self.note and self.before.job == self.after.job:
            return ""
        if not self.unknown:
            return "No difference was recorded."
        return (
            "No difference in what could be compared; these could not be, at least in full: "
            f"{', '.join(self.unknown)}."
        )


_MEDIAN, _HIGH = 2, 4  # of sketch.QUANTILES
_NOTHING = PrefixSketch(name="")


def comparison_of(
    before: Sketch,
    after: Sketch,
    *,
    context: VerdictContext | None = None,
    history: History | None = None,
) -> Comparison:
    """Return everything in which two runs differ.

    Args:
        context: Why the second failed.
        history: The runs before the second; what changes in most of them comes last.
    """
    earlier = [] if history is None else history.sketches
    found = ranked_changes(before, after, context or VerdictContext(), earlier)
    of = found.blamed()
    return Comparison(
        before=_run(before),
        after=_run(after),
        changes=as_changes([*found.changes, *found.habits]),
        past=None
        if before.job != after.job
        else Past(
            runs=0 if history is None else len(history.names),
            compared=len(earlier),
            more=history is not None and history.more,
            unreadable=0 if history is None else history.unreadable,
            good=sum(e.good for e in earlier),
            blame=of.blame,
            summary=of.text,
            confidence=of.confidence,
        ),
        unknown=tuple(found.unknown),
        numbers=tuple(_numbers(before, after)),
        prefixes=tuple(_prefixes(before, after)),
    )


def compare_runs(store: Store, before: str, after: str) -> Comparison:
    """Compare two runs.

    Args:
        before: The first, as people type it.
        after: The second.

    Raises:
        RunNotFoundError: if there is neither a recording nor a sketch of one.
        AmbiguousRunError: if it could be several.
        StoreError: if the store cannot be read.
    """
    old, _ = _sketch(store, before)
    new, context = _sketch(store, after)
    alike = old.job == new.job  # else nothing of it explains a failure
    history = _history(store, old, new)
    return comparison_of(old, new, context=context if alike else None, history=history)


def _run(sketch: Sketch) -> ComparedRun:
    return ComparedRun(
        job=sketch.job,
        run_id=sketch.run_id,
        attempt=sketch.attempt,
        state=sketch.state,
        started=sketch.started,
        duration=sketch.duration,
        verdict=sketch.verdict,
        title=sketch.title,
        fingerprint=None if sketch.fingerprint is None else sketch.fingerprint.id,
    )


def _numbers(before: Sketch, after: Sketch) -> list[Measured]:
    names = [*before.numbers, *(n for n in after.numbers if n not in before.numbers)]
    found = [
        Measured(name=name, before=before.measure(name), after=after.measure(name))
        for name in names
    ]
    inputs = (
        ("input_bytes", before.inputs.nbytes, after.inputs.nbytes),
        ("file_bytes", before.inputs.read, after.inputs.read),
        ("files", before.inputs.files, after.inputs.files),
        ("input_partitions", before.inputs.partitions, after.inputs.partitions),
    )
    return found + [
        Measured(name=name, before=old, after=new)
        for name, old, new in inputs
        if old is not None or new is not None
    ]


def _prefixes(before: Sketch, after: Sketch) -> list[PrefixPair]:
    """Return both runs' prefixes, those whose cost changed most first."""
    old = {each.name: each for each in before.prefixes}
    new = {each.name: each for each in after.prefixes}
    names = renamed(before, after)
    pairs = [
        (
            f"{was} → {names[was]}" if was in names else was,
            old[was],
            names.get(was, was),
        )
        for was in old
    ]
    found = [_pair(text, each, new.get(now, _NOTHING)) for text, each, now in pairs]
    come = [name for name in new if name not in old and name not in names.values()]
    found += [_pair(name, _NOTHING, new[name]) for name in come]
    return sorted(found, key=lambda pair: (-abs(pair.cost), pair.name))


def _pair(name: str, old: PrefixSketch, new: PrefixSketch) -> PrefixPair:
    reported = {
        "tasks": (old.tasks, new.tasks),
        "compute": (old.compute, new.compute),
        "seconds": (_at(old.seconds, _MEDIAN), _at(new.seconds, _MEDIAN)),
        "nbytes": (_at(old.nbytes, _MEDIAN), _at(new.nbytes, _MEDIAN)),
        "memory": (_at(old.memory, _HIGH), _at(new.memory, _HIGH)),
    }
    measured = {
        each: Measured(name=each, before=was, after=now)
        for each, (was, now) in reported.items()
    }
    return PrefixPair(
        name=name, measured=measured, cost=round(new.compute - old.compute, 6)
    )


def _at(quantiles: tuple[float, ...], place: int) -> float | None:
    return quantiles[place] if len(quantiles) > place else None


def _find_sketch(store: Store, name: str) -> Sketch | None:
    """Return the sketch of a run that is named in full, `JOB/RUN` or `JOB/RUN/ATTEMPT`.

    Raises:
        StoreError: if the store cannot be read.
        RecordingError: if the sketch cannot.
    """
    for slash in bounded("/").finditer(name.strip("/")):
        job, rest = name[: slash.start()], name[slash.end() :]
        head, _, last = rest.rpartition("/")
        wanted: set[tuple[str, int | None]] = {(safe(rest), None)}
        if head and last.isdigit():
            wanted.add((safe(head), int(last)))
        found = [
            each
            for each in sketched_runs(store, job)
            if wanted & {(each.address.run, None), each.address[1:]}
        ]
        if found:
            return read_sketch(store.get(one_per_run(found)[0].name))
    return None


def _sketch(store: Store, name: str) -> tuple[Sketch, VerdictContext]:
    try:
        run = find_run(store, name)
    except RunNotFoundError:
        sketch = _find_sketch(store, name)
        if sketch is None:
            raise
        return sketch, VerdictContext()
    verdict = run.stored_card().verdict
    case = Case(run)
    return sketch_of(case, verdict), verdict_context(case, verdict)


def _history(store: Store, old: Sketch, new: Sketch) -> History | None:
    """Return the history before the later of two runs, if both are of one job."""
    if old.job != new.job:
        return None
    later = max(old, new, key=lambda each: each.started)
    manifest = Manifest(
        recording="",
        job=later.job,
        run_id=later.run_id,
        attempt=later.attempt,
        started=later.started,
    )
    return earlier_runs(store, manifest)
