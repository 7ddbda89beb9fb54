"""The history of a job, read from a store: its names, and a few sketches."""

from __future__ import annotations

from itertools import islice

from dask_blackbox.analyse.history import one_per_run
from dask_blackbox.analyse.job_histories import job_history_of, wanted_for_groups
from dask_blackbox.errors import AmbiguousRunError, RunNotFoundError
from dask_blackbox.job_history import JobHistory
from dask_blackbox.layout import safe
from dask_blackbox.opened.earlier import read_sketches, sketched_runs
from dask_blackbox.store import Store

__all__ = ["job_history"]

_MOST = 50_000
_PATIENCE = 10.0


def job_history(store: Store, job: str, *, limit: int = 30) -> JobHistory:
    """Return the history of a job.

    Args:
        store: Where it lies.
        job: Its name, or a beginning of one that fits no other.
        limit: How many runs to list; failures and trends are of all of them.

    Raises:
        RunNotFoundError: if no run of it has left a sketch.
        AmbiguousRunError: if it could be several jobs.
        StoreError: if the store cannot be read.
    """
    found = list(islice(sketched_runs(store, job), _MOST + 1))
    if not found:
        job = _beginning(store, job)
        found = list(islice(sketched_runs(store, job), _MOST + 1))
    names = one_per_run(found[:_MOST])
    sketches = read_sketches(store, wanted_for_groups(names), patience=_PATIENCE)
    return job_history_of(
        safe(job), names, sketches, limit=limit, more=len(found) > _MOST
    )


def _beginning(store: Store, typed: str) -> str:
    jobs = list(
        store.folders(f"sketches/{safe(typed).rpartition('-')[0] or safe(typed)}")
    )
    jobs = [job for job in jobs if job.startswith(typed)]
    if not jobs:
        raise RunNotFoundError(typed, store.url)
    if len(jobs) > 1:
        raise AmbiguousRunError(typed, jobs[:10], more=len(jobs) > 10)  # noqa: PLR2004
    return jobs[0]
