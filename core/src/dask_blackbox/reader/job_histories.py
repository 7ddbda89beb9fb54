"""The history of a job, read from a store: its names, and a few sketches.

Names come the newest first, a page at a time: of a job with very many runs, the newest
are reported within seconds, and that there are more.
"""

from __future__ import annotations

import difflib
import time

from dask_blackbox.analyse.history import one_per_run
from dask_blackbox.analyse.job_histories import job_history_of, wanted_for_groups
from dask_blackbox.errors import AmbiguousRunError, RunNotFoundError
from dask_blackbox.job_history import JobHistory
from dask_blackbox.layout import SketchName, safe
from dask_blackbox.reader.earlier_runs import read_sketches, sketched_runs
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
    sketches = read_sketches(store, wanted_for_groups(names), timeout=_FOR_SKETCHES)
    return job_history_of(safe(job), names, sketches, limit=limit, more=more)


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
