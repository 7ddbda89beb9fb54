"""Two runs of a store compared, each by its recording or, where that is gone, its sketch."""

from __future__ import annotations

import re

import msgspec

from dask_blackbox.analyse import Case, History
from dask_blackbox.analyse.changes.for_card import verdict_context
from dask_blackbox.analyse.changes.ranking import VerdictContext
from dask_blackbox.analyse.comparison import Comparison, comparison_of
from dask_blackbox.analyse.history import one_per_run
from dask_blackbox.analyse.sketching import sketch_of
from dask_blackbox.card import RunCard
from dask_blackbox.errors import BlobNotFoundError, RunNotFoundError
from dask_blackbox.finding import Finding
from dask_blackbox.layout import safe
from dask_blackbox.manifest import Manifest
from dask_blackbox.reader.earlier_runs import earlier_runs, sketched_runs
from dask_blackbox.reader.run import Run
from dask_blackbox.reader.run_lookup import find_run
from dask_blackbox.sketch import Sketch, read_sketch
from dask_blackbox.store import Store


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
    return comparison_of(old, new, context=context, history=_history(store, old, new))


def _find_sketch(store: Store, name: str) -> Sketch | None:
    """Return the sketch of a run that is named in full, `JOB/RUN` or `JOB/RUN/ATTEMPT`.

    Raises:
        StoreError: if the store cannot be read.
        RecordingError: if the sketch cannot.
    """
    for slash in re.finditer("/", name.strip("/")):
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
    verdict = _verdict(run)
    case = Case(run)
    return sketch_of(case, verdict), verdict_context(case, verdict)


def _verdict(run: Run) -> Finding | None:
    """Return why a run failed, from its card."""
    if run.ending is not None:
        try:
            reported = run.store.get(f"{run.folder}card.json")
            return RunCard.from_json(reported).verdict
        except (BlobNotFoundError, msgspec.MsgspecError):
            pass  # the recording says it again
    return run.card().verdict


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
