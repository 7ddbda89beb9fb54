"""Deleting recordings: everything that a store holds of a run, with its sketches, notes and markers."""

from __future__ import annotations

import getpass
import os
import socket
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import msgspec

from dask_blackbox.errors import BlobNotFoundError, RecordingError
from dask_blackbox.layout import (
    RunAddress,
    audit_name,
    index_names,
    read_index_name,
    read_note_name,
    read_sketch_name,
    safe,
)
from dask_blackbox.reader.documents import last_heartbeat, read_manifest
from dask_blackbox.store import Store

_AT_ONCE = 16
_ALIVE = 60.0  # seconds since the last heartbeat


class Erasure(NamedTuple):
    """What is to be deleted of one run.

    Attributes:
        address: Which run.
        started: Epoch seconds; None where it is unknown.
        state: What its markers say of it; `gone` if only its sketch is there.
        blobs: Names, in the order in which they go: what names the run goes last, so that
            a deletion that was interrupted can be repeated.
        alive: Its recorder writes: it cannot be deleted now.
    """

    address: RunAddress
    started: float | None
    state: str
    blobs: tuple[str, ...]
    alive: bool = False


class _Known(NamedTuple):
    """The facts of one run in the index and the sketches of a store."""

    started: float | None
    states: tuple[str, ...]
    markers: tuple[str, ...]
    sketches: tuple[str, ...]
    notes: tuple[str, ...] = ()


def run_erasures(store: Store, addresses: Iterable[RunAddress]) -> list[Erasure]:
    """Return what is to be deleted of some runs.

    Raises:
        StoreError: if the store cannot be listed.
    """
    wanted = list(addresses)
    known: dict[RunAddress, _Known] = {}
    for job in {each.job for each in wanted}:
        known |= _known(store, job)
    return [_erasure(store, each, known.get(each)) for each in wanted]


def job_erasures(store: Store, job: str) -> list[Erasure]:
    """Return what is to be deleted of all runs of a job, the newest first.

    Args:
        job: Its name, or its safe form.

    Raises:
        StoreError: if the store cannot be listed.
    """
    known = _known(store, safe(job))
    there = dict.fromkeys([*known, *_recorded(store, safe(job))])
    return [_erasure(store, each, known.get(each)) for each in there]


def old_erasures(
    store: Store,
    before: float,
    *,
    job: str | None = None,
    states: AbstractSet[str] | None = None,
    keep: int = 0,
    sketches: bool = True,
) -> Iterator[Erasure]:
    """Yield what is to be deleted of runs that began before a moment.

    Args:
        before: Epoch seconds.
        job: Of this job only.
        states: In these states only.
        keep: How many of the newest runs of each job stay, however old they are.
        sketches: Whether the sketches go, too: what a job's history is made of.

    Raises:
        StoreError: if the store cannot be listed.
    """
    jobs = [safe(job)] if job else _jobs(store)
    for each in jobs:
        known = _known(store, each)
        unmarked = _recorded(store, each, besides={address.run for address in known})
        kept = list(dict.fromkeys(address.run for address in known))[:keep]
        for address in dict.fromkeys([*known, *unmarked]):
            reported = known.get(address) or _Known(None, (), (), ())
            started = reported.started or _started(store, address)
            if address.run in kept or started is None or started >= before:
                continue
            found = _erasure(store, address, reported, sketches=sketches)
            if found.blobs and (states is None or found.state in states):
                yield found._replace(started=started)


def erase(store: Store, erasures: Iterable[Erasure], *, by: str) -> int:
    """Delete runs; return how many blobs that were.

    Before, a line for each is written into the store, below `audit/`: what is deleted,
    by whom and when.  Nothing here ever deletes or replaces one.

    Args:
        by: The command.

    Raises:
        StoreError: if the store does not take that line, which deletes nothing, or does
            not delete; a repetition continues where it stopped.
    """
    erasures = list(erasures)
    _write_audit(store, erasures, by)
    count = 0
    with ThreadPoolExecutor(_AT_ONCE) as workers:
        for each in erasures:
            last = [name for name in each.blobs if _names_the_run(name)]
            rest = [name for name in each.blobs if not _names_the_run(name)]
            list(workers.map(store.delete, rest))
            for name in last:
                store.delete(name)
            count += len(each.blobs)
    return count


class Deletion(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the audit: a run that was deleted.

    Attributes:
        at: When, in epoch seconds.
        user: Name of the user of the operating system.
        host: Name of the machine.
        command: The command.
        run: Job, run id and attempt in their safe forms.
        state: How the run had ended.
        started: When it had started, epoch seconds; null: unknown.
        blobs: How many blobs it had.
    """

    at: float
    user: str
    host: str
    command: str
    run: str
    state: str
    started: float | None
    blobs: int


def _write_audit(store: Store, erasures: list[Erasure], command: str) -> None:
    if not erasures:
        return
    at = time.time()
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # an arbitrary user id, as in some containers
        user = str(os.getuid())
    lines = [
        Deletion(
            at=at,
            user=user,
            host=socket.gethostname(),
            command=command,
            run=each.address.name,
            state=each.state,
            started=each.started,
            blobs=len(each.blobs),
        )
        for each in erasures
    ]
    text = b"".join(msgspec.json.encode(each) + b"\n" for each in lines)
    store.put(audit_name(at), text, content_type="application/jsonl")


def _names_the_run(name: str) -> bool:
    return name.startswith("index/") or name.endswith("/run.json")


def _jobs(store: Store) -> list[str]:
    found = [each.removeprefix("job=") for each in store.folders("runs/")]
    found += [*store.folders("index/jobs/"), *store.folders("sketches/")]
    return sorted(set(found))


def _known(store: Store, job: str) -> dict[RunAddress, _Known]:
    """Return the facts of the runs of a job from names alone, the newest first."""
    starts: dict[RunAddress, float] = {}
    states: dict[RunAddress, list[str]] = defaultdict(list)
    markers: dict[RunAddress, list[str]] = defaultdict(list)
    for name in store.names(f"index/jobs/{job}/"):
        marker = read_index_name(name)
        if marker is not None:
            started = marker.started_ms / 1000
            starts.setdefault(marker.address, started)
            states[marker.address].append(marker.state)
            markers[marker.address] += index_names(
                marker.address, started, marker.state
            )
    sketches: dict[RunAddress, list[str]] = defaultdict(list)
    for name in store.names(f"sketches/{job}/"):
        sketch = read_sketch_name(name)
        if sketch is not None:
            starts.setdefault(sketch.address, sketch.started_ms / 1000)
            sketches[sketch.address].append(name)
    notes: dict[RunAddress, list[str]] = defaultdict(list)
    for name in store.names(f"notes/{job}/"):
        note = read_note_name(name)
        if note is not None:
            notes[note.address].append(name)
    newest = sorted(starts, key=lambda each: starts[each], reverse=True)
    return {
        each: _Known(
            starts[each],
            tuple(states[each]),
            tuple(markers[each]),
            tuple(sketches[each]),
            tuple(notes[each]),
        )
        for each in newest
    }


def _recorded(
    store: Store, job: str, *, besides: AbstractSet[str] = frozenset()
) -> Iterator[RunAddress]:
    """Yield the recordings of a job that have a folder, marker or not."""
    for run in store.folders(f"runs/job={job}/"):
        if run.removeprefix("run=") in besides:
            continue
        for attempt in store.folders(f"runs/job={job}/{run}/"):
            number = attempt.removeprefix("attempt=")
            if number.isdigit():
                yield RunAddress(job, run.removeprefix("run="), int(number))


def _erasure(
    store: Store, address: RunAddress, known: _Known | None, *, sketches: bool = True
) -> Erasure:
    known = known or _Known(None, (), (), ())
    inside = list(store.names(address.folder))
    inside.sort(key=lambda name: name.endswith("/run.json"))
    ended = any(state != "running" for state in known.states)
    alive = False
    if inside and not ended:
        seen = last_heartbeat(store, address.folder) or known.started
        alive = seen is not None and time.time() - seen < _ALIVE
    state = next((s for s in known.states if s != "running"), "lost")
    if alive:
        state = "running"
    return Erasure(
        address=address,
        started=known.started or _started(store, address),
        state=state if inside or known.markers else "gone",
        blobs=(
            *(known.sketches + known.notes if sketches else ()),
            *inside,
            *known.markers,
        ),
        alive=alive,
    )


def _started(store: Store, address: RunAddress) -> float | None:
    try:
        return read_manifest(store, address.folder).started
    except (BlobNotFoundError, RecordingError):
        return None
