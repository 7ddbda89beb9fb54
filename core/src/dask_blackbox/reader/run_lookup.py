"""Resolves what users type to a run of a store.

What opens a run (polars) is loaded when one is opened.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from dask_blackbox.errors import (
    AmbiguousRunError,
    RunNotFoundError,
)
from dask_blackbox.layout import RunAddress, read_index_name, safe
from dask_blackbox.patterns import bounded
from dask_blackbox.reader.run_index import marked_runs
from dask_blackbox.store import Store

if TYPE_CHECKING:
    from dask_blackbox.reader.run import Run

_URL = bounded(r"[A-Za-z0-9+]+://|/|~|\.\.?/|(?:.*/)?runs/job=")
_MOST = 10
_MOST_ALIKE = 3
_MOST_COMPLETIONS = 50
_MOST_COMPARED = 2_000  # names, for one that was misspelt

_Candidate = tuple[str | None, str | None, int | None]
"""Job, run, attempt; None for the newest."""


def find_run(store: Store, name: str) -> Run:
    """Open the run that a name refers to.

    Args:
        name: `latest`; `JOB` (its newest run); `JOB/RUN` (its newest attempt);
            `JOB/RUN/ATTEMPT`; a run's id alone; the beginning of any of these, if only
            one run or job begins so; or the URL of a recording.

    Raises:
        RunNotFoundError: if there is no such run.
        AmbiguousRunError: if it could be several; it lists them.
        StoreError: if the store cannot be read.
    """
    if _URL.match(name.strip()):
        # With the store's own client where it lies there: settings may not be global.
        found = _inside(store, name)
        if found is not None:
            return _run_at(store, found)
        from dask_blackbox.reader.run import Run

        return Run.open(name.strip())
    return _opened(store, _candidate(store, name), name)


def find_addresses(store: Store, name: str) -> list[RunAddress]:
    """Return the address of the recording that a name refers to: all attempts, unless it names one.

    Args:
        name: As for `find_run`; a URL must lie in this store.

    Raises:
        RunNotFoundError: if there is no such run.
        AmbiguousRunError: if it could be several; it lists them.
        StoreError: if the store cannot be read.
    """
    if _URL.match(name.strip()):
        found = _inside(store, name)
        if found is None:
            raise RunNotFoundError(name, store.url)
        return [found]
    job, run, attempt = _candidate(store, name)
    if run is None:
        return [_newest_address(store, job, name)]
    attempts = _attempts(store, job or "", run) if attempt is None else [attempt]
    return [RunAddress(job or "", run, number) for number in sorted(attempts)]


def find_job(store: Store, typed: str) -> str:
    """Return the job (in its safe form) that a name refers to: its name or a unique prefix.

    Raises:
        RunNotFoundError: if there is no such job.
        AmbiguousRunError: if it could be several; it lists them.
        StoreError: if the store cannot be read.
    """
    if _exists(store, f"runs/job={safe(typed)}/"):
        return safe(typed)
    jobs = _folders(store, f"runs/job={_start(typed)}")
    if not jobs:
        close = _alike(typed, _folders(store, "runs/job="))
        raise RunNotFoundError(typed, store.url, "job", close=close)
    if len(jobs) > 1:
        raise AmbiguousRunError(typed, jobs[:_MOST], more=len(jobs) > _MOST)
    return jobs[0]


def beginning_runs(store: Store, typed: str) -> list[str]:
    """Return completions: jobs, and the runs of the job before a slash.

    Raises:
        StoreError: if the store cannot be read.
    """
    job, slash, rest = typed.partition("/")
    if not slash:
        found = ["latest", *_folders(store, "runs/job=")]
        return [each for each in found if each.startswith(typed)][:_MOST_COMPLETIONS]
    runs = _folders(
        store, f"runs/job={safe(job)}/run={_start(rest)}", most=_MOST_COMPLETIONS
    )
    return [f"{job}/{run}" for run in runs]


def _inside(store: Store, name: str) -> RunAddress | None:
    inside = name.strip().removeprefix(store.url).lstrip("/")
    return RunAddress.at(inside)


def _candidate(store: Store, name: str) -> _Candidate:
    typed = name.strip().rstrip("/")
    if typed in {"", "latest"}:
        return None, None, None
    candidates = list(_exact(store, typed)) or list(_beginning(store, typed))
    if not candidates:
        if _is_marked(store, typed):
            raise RunNotFoundError(name, store.url, deleted=True)
        raise RunNotFoundError(name, store.url, close=_close(store, typed))
    if len(candidates) > 1:
        shown = [
            "/".join(str(part) for part in each if part is not None)
            for each in candidates[:_MOST]
        ]
        raise AmbiguousRunError(name, shown, more=len(candidates) > _MOST)
    return candidates[0]


def _is_marked(store: Store, typed: str) -> bool:
    """Return whether the index, which `ls` shows, has a job or a run of that name."""
    if _exists(store, f"index/jobs/{safe(typed)}/"):
        return True
    for job, rest in _splits(typed):
        names = islice(store.names(f"index/jobs/{job}/"), _MOST_COMPARED)
        head, _, attempt = rest.rpartition("/")
        runs = {(safe(rest), None), (safe(head), attempt)}
        for entry in filter(None, map(read_index_name, names)):
            _, run, number = entry.address
            if {(run, None), (run, str(number))} & runs:
                return True
    return False


def _close(store: Store, typed: str) -> list[str]:
    """Return existing names that are spelt similarly to what was typed."""
    jobs = _folders(store, "runs/job=")
    job, slash, rest = typed.partition("/")
    if not slash:
        return _alike(typed, ["latest", *jobs])
    found: list[str] = []
    for each in [safe(job)] if safe(job) in jobs else _alike(job, jobs):
        runs = _folders(store, f"runs/job={each}/run=", most=_MOST_COMPARED)
        head = rest.rpartition("/")[0] or rest
        same = [rest] if safe(rest) in runs else _alike(head, runs)
        found += [f"{each}/{run}" for run in same]
    return found[:_MOST_ALIKE]


def _alike(typed: str, known: list[str]) -> list[str]:
    return difflib.get_close_matches(typed, known, n=_MOST_ALIKE)


def _opened(store: Store, candidate: _Candidate, name: str) -> Run:
    job, run, attempt = candidate
    if job is None or run is None:
        from dask_blackbox.reader.run import Run

        return Run.newest(store, job, name)
    if attempt is None:
        attempts = _attempts(store, job, run)
        if not attempts:
            raise RunNotFoundError(name, store.url)
        attempt = max(attempts)
    return _run_at(store, RunAddress(job, run, attempt))


def _run_at(store: Store, address: RunAddress) -> Run:
    from dask_blackbox.reader.run import Run

    return Run.at(store, address)


def _newest_address(store: Store, job: str | None, name: str) -> RunAddress:
    """Return the address of the newest run, whether or not it can be read."""
    deleted = False
    for entry in marked_runs(store, job=job):
        if _exists(store, entry.address.folder):
            return entry.address
        deleted = True
    raise RunNotFoundError(name, store.url, deleted=deleted)


def _exact(store: Store, typed: str) -> Iterator[_Candidate]:
    """Yield runs that are named in full, by the host's names or by their safe forms.

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
    for slash in bounded("/").finditer(typed):
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


def _folders(store: Store, prefix: str, *, most: int | None = None) -> list[str]:
    """Return the words after the `=` of folders that begin with `prefix`."""
    return [folder.partition("=")[2] for folder in islice(store.folders(prefix), most)]
