"""The jobs of a store at a glance: what failed lately, and how each job does.

It comes from names of blobs, and from one sketch for each kind of failure.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import chain, islice, pairwise, takewhile
from statistics import median

import msgspec

from dask_blackbox.card import RunCard
from dask_blackbox.errors import BlackboxError
from dask_blackbox.job_history import Past
from dask_blackbox.layout import RunAddress, SketchName
from dask_blackbox.reader.earlier_runs import read_sketches, run_within, sketched_runs
from dask_blackbox.reader.run_index import RunEntry, marked_runs
from dask_blackbox.reader.stored_cards import stored_card
from dask_blackbox.store import Store

__all__ = ["FailureKind", "JobOutcomes", "JobsOverview", "Outcome", "jobs_overview"]

DAY = 86_400.0
_MOST_JOBS, _MOST_KINDS = 500, 20
_LOOKED_AT, _SHOWN = 100, 20
_MARKS = 300
"""Newest runs of the store that are looked at for those that have not ended."""
_AT_ONCE = 16
_TIMEOUT = 3.0
_FEWEST_INTERVALS = 4
_OVERDUE = 2.0
"""A job has missed a run if this many usual intervals have passed since the last."""
_HOUR = 3600.0
_FAILED = ("failed", "lost")


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How one run ended.

    Attributes:
        run: Its id (safe form).
        attempt: Which try of the run.
        state: How it ended; `stopped` if its host or a person ended it.
        started: Epoch seconds.
        duration: Seconds; null: not known.
        verdict: The rule that explains its failure.
        unusual: Rules that found something worth a look, though it succeeded.
        thread_seconds: Seconds that threads of workers were there; null: not known.
        memory_gib_seconds: GiB of workers' memory limits, times seconds; null: not known.
    """

    run: str
    attempt: int
    state: str
    started: float
    duration: float | None = None
    verdict: str | None = None
    unusual: tuple[str, ...] = ()
    thread_seconds: int | None = None
    memory_gib_seconds: int | None = None


class JobOutcomes(msgspec.Struct, frozen=True, kw_only=True):
    """How a job does.

    Attributes:
        job: Its name (safe form).
        started: When its newest run started, in epoch seconds.
        running: That run has not ended, or was lost.
        not_ended: That run, if so: job, run (safe forms) and attempt.
        outcomes: Its last runs that have ended, newest first, 20 at most.
        succeeded: How many of those succeeded.
        usual_duration: Median seconds of those that succeeded; null: none has a duration.
        usual_memory: Median bytes of the worker that had the most in each of them.
        peak_memory: Those bytes of the newest run that has ended.
        is_new: The newest run failed in a way that none of up to 100 runs before it did.
        interval: Usual seconds from one run's start to the next; null: it has too few runs.
        overdue: Seconds since the newest run started, if that is twice the interval.
    """

    job: str
    started: float
    running: bool
    not_ended: tuple[str, str, int] | None = None
    outcomes: tuple[Outcome, ...]
    succeeded: int = 0
    usual_duration: float | None = None
    usual_memory: float | None = None
    peak_memory: int | None = None
    is_new: bool = False
    interval: float | None = None
    overdue: float | None = None

    @property
    def failed(self) -> bool:
        """Whether the newest run that has ended failed."""
        return bool(self.outcomes) and self.outcomes[0].state in _FAILED


class FailureKind(msgspec.Struct, frozen=True, kw_only=True):
    """Failures of the last day that are alike.

    Attributes:
        verdict: The rule that explains them; empty: none does.
        title: What that rule said of the newest.
        jobs: The jobs that failed so, the most often affected first.
        times: How many runs.
        newest: The newest of them: job, run and attempt.
        first: The first of them since that job's last run that succeeded: job, run, attempt.
        past: What is known of the runs before that one, with what changed; null: not known.
    """

    verdict: str
    title: str
    jobs: tuple[str, ...]
    times: int
    newest: tuple[str, str, int]
    first: tuple[str, str, int]
    past: Past | None = None


class JobsOverview(msgspec.Struct, frozen=True, kw_only=True):
    """All jobs: those that need attention first, then those that ran last.

    Attributes:
        jobs: How each does.
        failures: What failed in the last day, by kind, the most frequent first.
        left_out: How many jobs, or more, were not looked at, for time or number.
    """

    jobs: tuple[JobOutcomes, ...]
    failures: tuple[FailureKind, ...]
    left_out: int = 0


def jobs_overview(store: Store, *, now: float | None = None) -> JobsOverview:
    """Return how the jobs of a store do, of 500 jobs at most, as far as 3 seconds allow.

    Args:
        now: Epoch seconds; None: the time.

    Raises:
        StoreError: if the store cannot be listed.
    """
    now = time.time() if now is None else now
    deadline = time.monotonic() + _TIMEOUT
    newest: dict[str, RunEntry] = {}
    for run in islice(marked_runs(store), _MARKS):
        newest.setdefault(run.address.job, run)
    names = list(islice(store.folders("sketches/"), _MOST_JOBS + 1))
    listed = list(dict.fromkeys([*names[:_MOST_JOBS], *newest]))[:_MOST_JOBS]

    def look(job: str) -> list[SketchName] | None:
        if time.monotonic() > deadline:
            return None
        return list(islice(sketched_runs(store, job), _LOOKED_AT))

    with ThreadPoolExecutor(_AT_ONCE) as readers:
        looked_at = dict(zip(listed, readers.map(look, listed), strict=True))
    known = {job: runs for job, runs in looked_at.items() if runs is not None}
    jobs = [
        _job(job, newest.get(job), runs, now)
        for job, runs in known.items()
        if runs or job in newest
    ]
    jobs.sort(key=lambda job: (_rank(job), -job.started))
    return JobsOverview(
        jobs=tuple(jobs),
        failures=tuple(_failures(store, known, now - DAY)),
        left_out=len({*names, *newest}) - len(known),
    )


def _job(
    job: str, newest: RunEntry | None, ended: list[SketchName], now: float
) -> JobOutcomes:
    shown = ended[:_SHOWN]
    good = [each for each in shown if each.state == "succeeded"]
    starts = [each.started_ms / 1000 for each in ended]
    last = max([*starts[:1], *([] if newest is None else [newest.started])])
    interval = _interval(starts)
    silent = now - last
    missed = interval is not None and silent > max(_OVERDUE * interval, _HOUR)
    begun = newest
    if newest is not None and starts and newest.started <= starts[0]:
        begun = None
    return JobOutcomes(
        job=job,
        started=last,
        running=begun is not None,
        not_ended=None if begun is None else begun.address,
        outcomes=tuple(map(_outcome, shown)),
        succeeded=len(good),
        usual_duration=_median(each.duration for each in good),
        usual_memory=_median(each.peak_memory for each in good),
        peak_memory=ended[0].peak_memory if ended else None,
        is_new=_is_new(ended),
        interval=interval,
        overdue=silent if missed else None,
    )


def _outcome(run: SketchName) -> Outcome:
    return Outcome(
        run=run.address.run,
        attempt=run.address.attempt,
        state="stopped" if run.stopped else run.state,
        started=run.started_ms / 1000,
        duration=run.duration,
        verdict=run.verdict,
        unusual=run.unusual,
        thread_seconds=run.thread_seconds,
        memory_gib_seconds=run.memory_gib_seconds,
    )


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _interval(starts: list[float]) -> float | None:
    """Return the usual seconds between runs: retries and backfills move no median."""
    gaps = [after - before for after, before in pairwise(starts[: _SHOWN + 1])]
    return median(gaps) if len(gaps) >= _FEWEST_INTERVALS else None


def _is_new(ended: list[SketchName]) -> bool:
    if len(ended) <= 1 or ended[0].state not in _FAILED or ended[0].stopped:
        return False
    kind = _kind(ended[0])
    return all(_kind(each) != kind for each in ended[1:] if each.state != "succeeded")


def _kind(run: SketchName) -> tuple[str | None, str | None]:
    return run.verdict, run.fingerprint


def _rank(job: JobOutcomes) -> int:
    """Return 0 for a job that fails in a new way, 1 that fails, 2 that is overdue.

    3 if its last run is worth a look though it succeeded, else 4.
    """
    if job.failed:
        return 0 if job.is_new else 1
    if job.overdue is not None:
        return 2
    return 3 if job.outcomes and job.outcomes[0].unusual else 4


def _failures(
    store: Store, ended: Mapping[str, list[SketchName]], since: float
) -> Iterator[FailureKind]:
    groups = defaultdict[tuple[str | None, str | None], list[SketchName]](list)
    for run in chain.from_iterable(ended.values()):
        recent = run.started_ms / 1000 >= since
        if recent and run.state in _FAILED and not run.stopped:
            groups[_kind(run)].append(run)
    largest = sorted(groups.values(), key=len, reverse=True)[:_MOST_KINDS]
    newest = [max(runs, key=lambda run: run.started_ms) for runs in largest]
    sketches = read_sketches(store, newest, timeout=_TIMEOUT)
    firsts = [_first_since_good(run, ended[run.address.job]) for run in newest]
    cards: dict[RunAddress, RunCard | None] = {}
    run_within(
        [partial(_read_card, store, first.address, cards) for first in firsts], _TIMEOUT
    )
    for run, first, runs in zip(newest, firsts, largest, strict=True):
        card = cards.get(first.address)
        sketch = sketches.get(run.name)
        times = defaultdict[str, int](int)
        for each in runs:
            times[each.address.job] += 1
        yield FailureKind(
            verdict=run.verdict or "",
            title=(sketch.title if sketch is not None else None) or "",
            jobs=tuple(sorted(times, key=lambda job: (-times[job], job))),
            times=len(runs),
            newest=run.address,
            first=first.address,
            past=None if card is None else card.past,
        )


def _first_since_good(run: SketchName, of_job: list[SketchName]) -> SketchName:
    """Return the first run of a row of failures that ends with one, and is of its kind.

    Args:
        of_job: The runs of its job that have ended, the newest first.
    """
    before = (each for each in of_job if each.started_ms <= run.started_ms)
    failing = takewhile(lambda each: each.state != "succeeded", before)
    return [each for each in failing if _kind(each) == _kind(run)][-1]


def _read_card(
    store: Store, run: RunAddress, cards: dict[RunAddress, RunCard | None]
) -> None:
    with suppress(BlackboxError):
        cards[run] = stored_card(store, run)
