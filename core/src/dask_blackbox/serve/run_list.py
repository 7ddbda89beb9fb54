"""Lists of runs: the newest ones, a page at a time, and those whose sketches match a search."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from itertools import islice

import msgspec

from dask_blackbox.errors import ConfigurationError
from dask_blackbox.layout import RunAddress, SketchName, index_names, read_index_name
from dask_blackbox.patterns import bounded
from dask_blackbox.reader import RunEntry, marked_runs
from dask_blackbox.reader.earlier_runs import read_sketches, sketched_runs
from dask_blackbox.sketch import Sketch
from dask_blackbox.store import Store

CHOICES = {
    "failed": frozenset({"failed"}),
    "aborted": frozenset({"aborted"}),
    "succeeded": frozenset({"succeeded"}),
    # The index does not distinguish them: a lost run could not be marked as lost.
    "running or lost": frozenset({"running", "lost"}),
}
"""The states that one can ask for."""

_STATES = frozenset().union(*CHOICES.values())

_MOST_LOOKED_AT = 5_000
"""Runs read for one page: a rare state among very many runs takes several pages."""


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """Some runs, newest first.

    Attributes:
        runs: The runs, in the states that the index knows: a lost one as `running`.
        older: Where the next page begins; None: there is none.
    """

    runs: tuple[RunEntry, ...]
    older: str | None = None


def states_of(choice: str) -> AbstractSet[str] | None:
    """Return the states that a word stands for; None where nothing was chosen.

    Raises:
        ConfigurationError: if there is no such state.
    """
    if not choice:
        return None
    if choice in CHOICES:
        return CHOICES[choice]
    if choice in _STATES:
        return {choice}
    raise ConfigurationError(
        f"there is no state {choice!r}; choose one of {', '.join(sorted(_STATES))}"
    )


def page_of_runs(
    store: Store,
    *,
    job: str | None = None,
    states: AbstractSet[str] | None = None,
    after: str = "",
    size: int = 50,
) -> Page:
    """Return a page of the newest runs.

    Args:
        job: Of this job only.
        states: In these states only.
        after: The `older` of the page before.
    """
    runs: list[RunEntry] = []
    last = _entry(after)
    for looked_at, run in enumerate(marked_runs(store, job=job, after=last)):
        if len(runs) == size or looked_at == _MOST_LOOKED_AT:
            return Page(runs=tuple(runs), older=_cursor(last))
        last = run
        if states is None or run.state in states:
            runs.append(run)
    return Page(runs=tuple(runs))


def _cursor(run: RunEntry | None) -> str | None:
    if run is None:
        return None
    return index_names(run.address, run.started, run.state)[0].removeprefix(
        "index/all/"
    )


def _entry(cursor: str) -> RunEntry | None:
    """Return the run that a cursor stands for; None for one that is none of ours."""
    marked = read_index_name(f"index/all/{cursor}") if cursor else None
    if marked is None:
        return None
    return RunEntry(marked.address, marked.started_ms / 1000, "running", "")


_TIMEOUT = 3.0
_MOST_JOBS = 2_000
_AT_ONCE = 64


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """What runs are looked for; empty: whatever it is.

    Attributes:
        job: A part of the job's name.
        state: One of the states, or `running or lost`.
        verdict: The rule that explains the failure.
        text: Words that the sketch holds: headline, prefixes, versions, settings.
        since: Epoch seconds.
        until: Epoch seconds.
    """

    job: str = ""
    state: str = ""
    verdict: str = ""
    text: str = ""
    since: float | None = None
    until: float | None = None


class FoundRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run as its sketch describes it; null: not known.

    Attributes:
        job: Its job (safe form).
        run: Its id (safe form).
        attempt: Which try of the run.
        state: How it ended.
        started: Epoch seconds.
        duration: Seconds.
        verdict: The rule that explains its failure.
        title: What that rule said.
    """

    job: str
    run: str
    attempt: int
    state: str
    started: float
    duration: float | None = None
    verdict: str | None = None
    title: str | None = None

    @property
    def address(self) -> RunAddress:
        """Where its recording belongs."""
        return RunAddress(self.job, self.run, self.attempt)


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """Runs, newest first.

    Attributes:
        runs: Those that fit.
        looked_at: How many sketches were looked at.
        older: `until` of the next page; null: these are all.
    """

    runs: tuple[FoundRun, ...]
    looked_at: int
    older: float | None = None


def runs_found(store: Store, search: Search, *, size: int = 50) -> Found:
    """Return the newest runs that fit, as far as can be found in time.

    Raises:
        ConfigurationError: if there is no such state.
        StoreError: if the store cannot be read.
    """
    deadline = time.monotonic() + _TIMEOUT
    states = states_of(search.state)
    words = [word for word in bounded(r"\s+").split(search.text.lower()) if word]
    found: list[FoundRun] = []
    looked_at, last = 0, None
    names = _newest(store, search)
    while batch := list(islice(names, _AT_ONCE)):
        fitting = [each for each in batch if _fits(each, states, search.verdict)]
        sketches = dict[str, Sketch]()
        if words:
            left = max(0.1, deadline - time.monotonic())
            sketches = read_sketches(store, fitting, timeout=left)
        for each in batch:
            looked_at, last = looked_at + 1, each.started_ms / 1000
            if each not in fitting or not _holds(sketches.get(each.name), words):
                continue
            found.append(_run(each, sketches.get(each.name)))
            if len(found) == size:
                break
        if len(found) == size or time.monotonic() > deadline:
            return Found(runs=tuple(found), looked_at=looked_at, older=last)
    return Found(runs=tuple(found), looked_at=looked_at)


def _fits(run: SketchName, states: AbstractSet[str] | None, verdict: str) -> bool:
    in_state = states is None or run.state in states
    return in_state and (not verdict or run.verdict == verdict)


def _newest(store: Store, search: Search) -> Iterator[SketchName]:
    """Yield the sketches of all jobs that fit, newest first; names only are read."""
    jobs = [
        job
        for job in islice(store.folders("sketches/"), _MOST_JOBS)
        if search.job.lower() in job.lower()
    ]
    if not jobs and search.job:
        raise ConfigurationError(
            f"no job's name contains {search.job!r}; leave it empty to see all jobs"
        )
    by_job = [_within(sketched_runs(store, job), search) for job in jobs]
    return heapq.merge(*by_job, key=lambda each: -each.started_ms)


def _within(names: Iterator[SketchName], search: Search) -> Iterator[SketchName]:
    for each in names:
        started = each.started_ms / 1000
        if search.until is not None and started >= search.until:
            continue
        if search.since is not None and started < search.since:
            return
        yield each


def _holds(sketch: Sketch | None, words: list[str]) -> bool:
    if not words:
        return True
    if sketch is None:
        return False
    text = "\n".join(_texts(sketch)).lower()
    return all(word in text for word in words)


def _texts(sketch: Sketch) -> Iterator[str]:
    yield from filter(None, (sketch.job, sketch.run_id, sketch.verdict, sketch.title))
    if sketch.fingerprint is not None:
        yield sketch.fingerprint.basis
    for prefix in sketch.prefixes:
        yield from (prefix.name, *prefix.functions)
    for facts in sketch.facts.values():
        yield from (f"{name} {value}" for name, value in facts.items())


def _run(name: SketchName, sketch: Sketch | None) -> FoundRun:
    return FoundRun(
        job=name.address.job,
        run=name.address.run,
        attempt=name.address.attempt,
        state=name.state,
        started=name.started_ms / 1000,
        duration=name.duration,
        verdict=name.verdict,
        title=None if sketch is None else sketch.title,
    )
