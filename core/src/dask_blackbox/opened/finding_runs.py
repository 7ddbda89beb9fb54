"""Which run do they mean?  What people type, resolved against a store."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dask_blackbox.errors import AmbiguousRunError, RunNotFoundError
from dask_blackbox.layout import RunAddress, safe
from dask_blackbox.opened.listing import entries
from dask_blackbox.opened.opening import Run
from dask_blackbox.store import Store

__all__ = ["find_run"]

_URL = re.compile(r"[A-Za-z0-9+]+://|/|~|\.\.?/|runs/job=")
_MOST = 10


def find_run(store: Store, name: str) -> Run:
    """Open the run that somebody means.

    Args:
        store: Where to look.
        name: `latest`; `JOB` (its newest run); `JOB/RUN` (its newest attempt);
            `JOB/RUN/ATTEMPT`; a run's id alone; the beginning of any of these, if only
            one run or job begins so; or the URL of a recording.

    Raises:
        RunNotFoundError: if there is no such run.
        AmbiguousRunError: if it could be several; it lists them.
        StoreError: if the store cannot be read.
    """
    typed = name.strip().rstrip("/")
    if _URL.match(name.strip()):
        # With the store's own client where it lies there: settings may not be global.
        inside = name.strip().removeprefix(store.url).lstrip("/")
        found = re.match(r"runs/job=[^/]+/run=[^/]+/attempt=\d+", inside)
        return Run.at(store, f"{found[0]}/") if found else Run.open(name.strip())
    if typed in {"", "latest"}:
        return _newest(store, None, name)
    candidates = list(_exact(store, typed)) or list(_beginning(store, typed))
    if not candidates:
        raise RunNotFoundError(name, store.url)
    if len(candidates) > 1:
        shown = [_typed(each) for each in candidates[:_MOST]]
        raise AmbiguousRunError(name, shown, more=len(candidates) > _MOST)
    return _opened(store, candidates[0], name)


_Candidate = tuple[str, str | None, int | None]
"""Job, run, attempt; None for the newest."""


def _opened(store: Store, candidate: _Candidate, name: str) -> Run:
    job, run, attempt = candidate
    if run is None:
        return _newest(store, job, name)
    if attempt is None:
        attempts = _attempts(store, job, run)
        if not attempts:
            raise RunNotFoundError(name, store.url)
        attempt = max(attempts)
    return Run.at(store, RunAddress(job, run, attempt))


def _newest(store: Store, job: str | None, name: str) -> Run:
    for entry in entries(store, job=job):
        return Run.at(store, entry.address)
    raise RunNotFoundError(name, store.url)


def _exact(store: Store, typed: str) -> Iterator[_Candidate]:
    """Yield what is named in full: words as given to Airflow or Prefect, or safe ones.

    Both job and run id may hold slashes, so each slash may be the one between them.
    """
    if _exists(store, f"runs/job={safe(typed)}/"):
        yield safe(typed), None, None
        return
    for job, rest in _splits(typed):
        if not _exists(store, f"runs/job={job}/"):
            continue
        if rest == "latest":
            yield job, None, None
            return
        head, _, last = rest.rpartition("/")
        if head and last.isdigit() and int(last) in _attempts(store, job, safe(head)):
            yield job, safe(head), int(last)
            return
        if _attempts(store, job, safe(rest)):
            yield job, safe(rest), None
            return


def _beginning(store: Store, typed: str) -> Iterator[_Candidate]:
    """Yield what begins so: jobs, else runs of a job, else runs of any job."""
    jobs = _folders(store, f"runs/job={_start(typed)}")
    if jobs:
        yield from ((job, None, None) for job in jobs)
        return
    found = False
    for job, rest in _splits(typed):
        jobs = _folders(store, f"runs/job={job}")
        for full in [job] if job in jobs else jobs:
            for run in _folders(store, f"runs/job={full}/run={_start(rest)}"):
                found = True
                yield full, run, None
    if found:
        return
    for job in _folders(store, "runs/job="):
        for run in _folders(store, f"runs/job={job}/run={_start(typed)}"):
            yield job, run, None


def _splits(typed: str) -> Iterator[tuple[str, str]]:
    for slash in re.finditer("/", typed):
        if typed[: slash.start()] and typed[slash.end() :]:
            yield safe(typed[: slash.start()]), typed[slash.end() :]


def _start(typed: str) -> str:
    """Return the beginning of the safe form of every word that begins so."""
    plain = safe(typed)
    return plain if plain == typed else plain.rpartition("-")[0]


def _exists(store: Store, prefix: str) -> bool:
    return any(store.names(prefix, limit=1))


def _attempts(store: Store, job: str, run: str) -> list[int]:
    found = store.folders(f"runs/job={job}/run={run}/")
    numbers = (folder.removeprefix("attempt=") for folder in found)
    return [int(number) for number in numbers if number.isdigit()]


def _folders(store: Store, prefix: str) -> list[str]:
    """Return the words after the `=` of folders that begin with `prefix`."""
    return [folder.partition("=")[2] for folder in store.folders(prefix)]


def _typed(candidate: _Candidate) -> str:
    return "/".join(str(part) for part in candidate if part is not None)
