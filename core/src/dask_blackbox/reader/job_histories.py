"""The history of a job, read from a store: runs, kinds of failures, trends.

Names come the newest first, a page at a time: of a job with very many runs, the newest
are reported within seconds, and that there are more.
"""

from __future__ import annotations

import difflib
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from string import ascii_uppercase

from dask_blackbox.analyse.changes.differences import differences
from dask_blackbox.analyse.earlier_runs import one_per_run
from dask_blackbox.analyse.lasting_changes import lasting_change
from dask_blackbox.errors import AmbiguousRunError, RunNotFoundError
from dask_blackbox.formatting import listed
from dask_blackbox.job_history import (
    FailureGroup,
    JobHistory,
    PastRun,
    Trend,
)
from dask_blackbox.layout import SketchName, safe
from dask_blackbox.reader.earlier_runs import read_sketches, sketched_runs
from dask_blackbox.sketch import Sketch
from dask_blackbox.store import Store

FOR_NAMES = 2.0  # seconds; a page of 1,000 takes a bucket a tenth of that
_FOR_SKETCHES = 10.0
_PAGE = 500


def job_history(
    store: Store, job: str, *, limit: int = 30, timeout: float | None = FOR_NAMES
) -> JobHistory:
    """Return the history of a job.

    Args:
        job: Its name, or a beginning of one that fits no other.
        limit: How many runs to list; failures and trends are of all that are looked at.
        timeout: Seconds for listing names: it stops with those that it has by then, 500
            and `limit` at least.  None: all are listed, however long that takes.

    Raises:
        RunNotFoundError: if no run of it has left a sketch.
        AmbiguousRunError: if it could be several jobs.
        StoreError: if the store cannot be read.
    """
    found, more = _newest(store, job, limit, timeout)
    if not found:
        job = _beginning(store, job)
        found, more = _newest(store, job, limit, timeout)
    names = one_per_run(found)
    sketches = read_sketches(store, _wanted_for_groups(names), timeout=_FOR_SKETCHES)
    return _job_history_of(safe(job), names, sketches, limit=limit, more=more)


def _newest(
    store: Store, job: str, least: int, timeout: float | None
) -> tuple[list[SketchName], bool]:
    """Return the newest names, and whether there are more; all without a patience."""
    begun = time.monotonic()
    found: list[SketchName] = []
    for each in sketched_runs(store, job):
        if (
            timeout is not None
            and len(found) >= max(least, _PAGE)
            and len(found) % _PAGE == 0
            and time.monotonic() - begun > timeout
        ):
            return found, True
        found.append(each)
    return found, False


def _beginning(store: Store, typed: str) -> str:
    jobs = list(
        store.folders(f"sketches/{safe(typed).rpartition('-')[0] or safe(typed)}")
    )
    jobs = [job for job in jobs if job.startswith(typed)]
    if not jobs:
        known = list(store.folders("sketches/"))
        close = difflib.get_close_matches(typed, known, n=3)
        raise RunNotFoundError(typed, store.url, "job", close=close)
    if len(jobs) > 1:
        raise AmbiguousRunError(typed, jobs[:10], more=len(jobs) > 10)  # noqa: PLR2004
    return jobs[0]


_WINDOW = 20
_SHOWN = 60
_MOST_GROUPS = 12
_STOPPED = 3
_EXPLAINING_KINDS = ("package", "python", "code", "cluster-shape", "dask-config")


def _grouped(names: Sequence[SketchName]) -> dict[str, list[int]]:
    """Return the positions of failures of each kind in the list, the newest kinds first."""
    found: dict[str, list[int]] = {}
    for place, each in enumerate(names):
        if each.fingerprint:
            found.setdefault(each.fingerprint, []).append(place)
    return found


def _wanted_for_groups(names: Sequence[SketchName]) -> list[SketchName]:
    """Return the runs whose whole sketches are read for details of the failures: two for each kind.

    Args:
        names: Of all runs, the newest first.
    """
    wanted = []
    names = [each for each in names if not each.stopped]
    for places in list(_grouped(names).values())[:_MOST_GROUPS]:
        newest = places[0]
        wanted.append(names[newest])
        after = _next_good(names, newest)
        if after is not None:
            wanted.append(after)
    return wanted


def _next_good(names: Sequence[SketchName], place: int) -> SketchName | None:
    later = (names[n] for n in range(place - 1, -1, -1))
    return next((each for each in later if each.state == "succeeded"), None)


def _job_history_of(
    job: str,
    names: Sequence[SketchName],
    sketches: Mapping[str, Sketch],
    *,
    limit: int,
    more: bool,
) -> JobHistory:
    """Return a job's history.

    Args:
        names: Of all runs, the newest first, one for each run.
        sketches: Those of `_wanted_for_groups` that could be read, by name.
        limit: How many runs to list.
        more: There are more runs than these.
    """
    judged = [each for each in names if not each.stopped]
    grouped = list(_grouped(judged).items())
    letters = {fingerprint: _letter(n) for n, (fingerprint, _) in enumerate(grouped)}
    return JobHistory(
        job=job,
        total=len(names),
        more=more,
        states=dict(
            Counter("stopped" if each.stopped else each.state for each in names)
        ),
        runs=tuple(_run(each, letters) for each in names[:limit]),
        groups=tuple(
            _group(letters[fingerprint], places, judged, sketches)
            for fingerprint, places in grouped[:_MOST_GROUPS]
        ),
        trends=tuple(_trends(names)),
    )


def _letter(number: int) -> str:
    """Return A, B, … Z, AA, AB …"""
    text = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        text = ascii_uppercase[rest] + text
    return text


def _run(name: SketchName, letters: Mapping[str, str]) -> PastRun:
    return PastRun(
        run=name.address.name,
        state=name.state,
        started=name.started_ms / 1000,
        duration=name.duration,
        input_bytes=name.input_bytes,
        partitions=name.partitions,
        peak_memory=name.peak_memory,
        verdict=name.verdict,
        fingerprint=name.fingerprint,
        group=None if name.stopped else letters.get(name.fingerprint or ""),
        stopped=name.stopped,
    )


def _group(
    letter: str,
    places: Sequence[int],
    names: Sequence[SketchName],
    sketches: Mapping[str, Sketch],
) -> FailureGroup:
    newest, oldest = names[places[0]], names[places[-1]]
    reported = sketches.get(newest.name)
    after = _next_good(names, places[0])
    stopped = None
    if after is not None and places[0] >= _STOPPED:
        good = sketches.get(after.name)
        stopped = (
            "" if reported is None or good is None else _what_changed(reported, good)
        )
    return FailureGroup(
        letter=letter,
        fingerprint=newest.fingerprint or "",
        verdict=newest.verdict,
        title=None if reported is None else reported.title,
        times=len(places),
        first=oldest.started_ms / 1000,
        last=newest.started_ms / 1000,
        since=places[0],
        stopped=stopped,
    )


def _what_changed(failed: Sketch, good: Sketch) -> str:
    """Return which code or setting changed when a failure stopped; empty if none did."""
    found = [
        each for each in differences(failed, good) if each.kind in _EXPLAINING_KINDS
    ]
    found.sort(key=lambda each: _EXPLAINING_KINDS.index(each.kind))
    if not found:
        return ""
    steps = [f"{e.what} {e.before or 'none'} → {e.after or 'none'}" for e in found]
    return listed(steps, most=1)


def _trends(names: Sequence[SketchName]) -> list[Trend]:
    good = [each for each in names if each.state == "succeeded"]
    found = []
    for name in ("duration", "input_bytes", "peak_memory"):
        values = [float(v) for each in good if (v := getattr(each, name)) is not None]
        if len(values) < 2:  # noqa: PLR2004
            continue
        window = min(_WINDOW, max(1, len(values) // 2))
        found.append(
            Trend(
                name=name,
                now=median(values[:window]),
                before=median(values[window : 2 * window]),
                values=tuple(values[:_SHOWN][::-1]),
                change=lasting_change(
                    (each.started_ms / 1000, getattr(each, name)) for each in good
                ),
            )
        )
    return found
