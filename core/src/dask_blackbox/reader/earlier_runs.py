"""The earlier runs of a job, read from a store: bounded in number and in time.

One listing of names shows how each run ended; of a few of them, the whole sketch is read,
many at once.  A store that is slow, or holds sketches that cannot be read, gives a
shorter history and never an error: it says how many runs were looked at.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice

import msgspec

from dask_blackbox.analyse import Case
from dask_blackbox.analyse.earlier_runs import (
    History,
    good_instances_among,
    is_backfill,
    is_mapped,
    of_one_series,
    one_per_run,
    siblings_among,
    tries_before,
)
from dask_blackbox.analyse.sketching import facts_of_sketch, sketch_of
from dask_blackbox.card import RunCard
from dask_blackbox.errors import BlackboxError, RecordingError, StoreError
from dask_blackbox.finding import UNUSUAL
from dask_blackbox.job_history import Note
from dask_blackbox.layout import (
    RunAddress,
    SketchName,
    read_sketch_name,
    sketch_folder,
    sketch_name,
)
from dask_blackbox.manifest import Manifest
from dask_blackbox.reader.notes import named_notes, read_note
from dask_blackbox.run_tables import RunTables
from dask_blackbox.sketch import Sketch, packed, read_sketch
from dask_blackbox.store import Store

logger = logging.getLogger("dask_blackbox")

_MOST_NAMES = 10_000
_MOST_READ = 100
_MOST_NOTES = 20
_AT_ONCE = 16
_TIMEOUT = 3.0  # seconds for everything
_FOR_NAMES = 0.4  # a share of that, at most, until the newest names are known
_FOR_NEWEST = 0.8  # and until the newest sketches are read
_FIRST_NAMES = 500


def sketched_runs(store: Store, job: str, *, after: str = "") -> Iterator[SketchName]:
    """Yield the facts in the names of a job's sketches, the newest first.

    Args:
        job: Its name as the host gave it, or in its safe form.
        after: Those that come after this name.

    Raises:
        StoreError: if the store cannot be listed.
    """
    for name in store.names(sketch_folder(job), after=after):
        reported = read_sketch_name(name)
        if reported is not None:
            yield reported


def earlier_runs(
    store: Store,
    manifest: Manifest,
    *,
    most: int = _MOST_READ,
    timeout: float = _TIMEOUT,
) -> History:
    """Return the history of a run: those of its job that began before it.

    Args:
        most: How many sketches are read at most.
        timeout: Seconds that this may take.
    """
    begun = time.monotonic()
    own = RunAddress.of_run(manifest)
    # No field sorts before nothing: the name is that of no sketch, just before its own.
    bound = sketch_name(own, manifest.started, "").rpartition("~")[0]
    listing = _Listing(store, manifest.job, bound)
    listing.wait(enough=_FIRST_NAMES, until=begun + timeout * _FOR_NAMES)
    backfill = is_backfill(manifest.run_id)
    found: dict[str, Sketch | Exception] = {}
    wanted = _wanted(listing.names(own), most, backfill=backfill)
    _read(store, wanted, begun + timeout * _FOR_NEWEST, found)
    # Older names may hold the last good run of a job that fails for long.
    listing.go_on()
    listing.wait(enough=_MOST_NAMES, until=begun + timeout * _FOR_NEWEST)
    names = listing.names(own)
    wanted = _wanted(names, most, backfill=backfill)
    _read(store, wanted, begun + timeout, found)
    listing.stop()
    notes = _notes(store, manifest.job, begun + timeout)
    siblings, instances = _instances(store, manifest, begun + timeout)
    sketches, unreadable = [], 0
    for each in wanted:
        read = found.get(each.name)
        if isinstance(read, Sketch):
            # Safe forms of two jobs may be equal: the true name decides.
            if read.job == manifest.job:
                sketches.append(read)
        elif read is not None:
            unreadable += 1
    late = any(each.name not in found for each in wanted)
    return History(
        names=tuple(names),
        sketches=tuple(sketches),
        unreadable=unreadable,
        more=not listing.complete or late,
        tries=tuple(listing.tries(own)),
        attempts=tuple(listing.attempts(own)),
        siblings=siblings,
        instances=instances,
        notes=notes,
    )


def _notes(store: Store, job: str, deadline: float) -> tuple[Note, ...]:
    """Return the newest notes on runs of a job, those that could be read until a moment."""
    found: list[Note] = []

    def read() -> None:
        try:
            for named in islice(named_notes(store, job), _MOST_NOTES):
                if time.monotonic() > deadline:
                    return
                if (note := read_note(store, named)) is not None:
                    found.append(note)
        except BlackboxError as error:
            logger.info("no notes: %s", error)

    run_within([read], deadline - time.monotonic())
    return tuple(found)


def _instances(
    store: Store, manifest: Manifest, deadline: float
) -> tuple[tuple[Sketch, ...], tuple[Sketch, ...]]:
    """Return other instances of a mapped task: of the same run, also those that began later, and
    good ones of earlier runs."""
    own = RunAddress.of_run(manifest)
    if not is_mapped(own.run):
        return (), ()
    listing = _Listing(store, manifest.job, "")
    listing.wait(enough=_FIRST_NAMES, until=deadline)
    listing.stop()
    names = listing.attempts(own)
    siblings = siblings_among(names, own.run)[:_MOST_READ]
    before = [each for each in names if each.started_ms < manifest.started * 1000]
    backfill = is_backfill(manifest.run_id)
    good = good_instances_among(before, own.run, backfill=backfill)[:_MOST_READ]
    left = max(0.0, deadline - time.monotonic())
    read = read_sketches(store, [*siblings, *good], timeout=left)
    return (
        tuple(read[each.name] for each in siblings if each.name in read),
        tuple(read[each.name] for each in good if each.name in read),
    )


def read_sketches(
    store: Store, names: Iterable[SketchName], *, timeout: float
) -> dict[str, Sketch]:
    """Return the sketches of some names, those that could be read in time."""
    found: dict[str, Sketch | Exception] = {}
    _read(store, list(names), time.monotonic() + timeout, found)
    return {name: each for name, each in found.items() if isinstance(each, Sketch)}


def _wanted(names: list[SketchName], most: int, *, backfill: bool) -> list[SketchName]:
    """Return the newest runs, and the last good one however long ago it was."""
    good = [each for each in names if each.state == "succeeded"]
    regular = [each for each in good if not is_backfill(each.address.run)]
    last = (good if backfill else regular or good)[:1]
    return [*last, *(each for each in names[:most] if each not in last)]


class _Listing:
    """The names of a job's earlier runs: the newest, and the others when it may go on.

    In a thread, so that a store that is slow to list delays nothing.
    """

    def __init__(self, store: Store, job: str, after: str) -> None:
        self._names: list[SketchName] = []
        self._enough, self._ended = threading.Event(), threading.Event()
        self._further = threading.Event()
        self.complete = False
        """Whether all there are have been listed."""

        def look() -> None:
            try:
                for each in sketched_runs(store, job, after=after):
                    self._names.append(each)
                    if len(self._names) == _FIRST_NAMES:
                        self._further.wait(_TIMEOUT * 2)
                    if len(self._names) >= _MOST_NAMES or self._enough.is_set():
                        return
                self.complete = True
            except BlackboxError as error:
                logger.info("no history: %s", error)
            finally:
                self._ended.set()

        _thread(look).start()

    def wait(self, *, enough: int, until: float) -> None:
        """Wait for so many names, or all, until a moment."""
        while len(self._names) < enough and time.monotonic() < until:
            if self._ended.wait(min(0.02, max(0.0, until - time.monotonic()))):
                return

    def names(self, own: RunAddress) -> list[SketchName]:
        """Return what has been listed so far: runs that one is to be compared with."""
        listed = one_per_run(list(self._names))
        others = [each for each in listed if each.address.run != own.run]
        return of_one_series(others, own.run)

    def tries(self, own: RunAddress) -> list[SketchName]:
        """Return the attempts of the run itself that came before."""
        return tries_before(list(self._names), own)

    def attempts(self, own: RunAddress) -> list[SketchName]:
        """Return all attempts of other runs."""
        return [each for each in list(self._names) if each.address.run != own.run]

    def go_on(self) -> None:
        """List beyond the newest, too."""
        self._further.set()

    def stop(self) -> None:
        """List no further."""
        self._enough.set()
        self._further.set()


def _read(
    store: Store,
    names: list[SketchName],
    deadline: float,
    found: dict[str, Sketch | Exception],
) -> None:
    """Add each sketch that is not there yet, or why it cannot be read, until a moment."""
    missing = [each for each in names if each.name not in found]
    waiting = iter(missing)
    lock = threading.Lock()

    def work() -> None:
        while time.monotonic() < deadline:
            with lock:
                each = next(waiting, None)
            if each is None:
                return
            try:
                found[each.name] = read_sketch(store.get(each.name))
            except RecordingError as error:
                logger.info("%s: %s", each.name, error)
                found[each.name] = error
            except BlackboxError as error:
                logger.info("%s: %s", each.name, error)
                return

    at_once = min(_AT_ONCE, len(missing))
    run_within([work] * at_once, deadline - time.monotonic())


def run_within(jobs: list[Callable[[], None]], timeout: float) -> None:
    """Run jobs at once, and wait for them so long.

    Their threads die with the process: a store that hangs does not delay the exit.
    """
    deadline = time.monotonic() + timeout
    threads = [_thread(job) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))


def _thread(job: Callable[[], None]) -> threading.Thread:
    return threading.Thread(target=job, name="dask-blackbox-history", daemon=True)


def write_sketch(store: Store, run: RunTables, card: RunCard) -> str | None:
    """Write the sketch of a run that has ended; return its name, None if it continues.

    One that was made when less was known gives way to it.  Twice is as good as once.

    Raises:
        StoreError: if the store does not accept it.
    """
    if card.state == "running":
        return None
    sketch = sketch_of(Case(run), card.verdict)
    if sketch.good:
        found = {each.rule for each in card.findings}
        unusual = tuple(rule for rule in UNUSUAL if rule in found)
        sketch = msgspec.structs.replace(sketch, unusual=unusual)
    return put_sketch(store, sketch)


def put_sketch(store: Store, sketch: Sketch) -> str:
    """Write a sketch and return its name.

    Raises:
        StoreError: if the store does not accept it.
    """
    address = RunAddress.of_run(sketch)
    name = sketch_name(address, sketch.started, sketch.state, **facts_of_sketch(sketch))
    store.put(name, packed(sketch), content_type="application/gzip")
    # Whoever may not list or delete leaves old ones: readers use the one with more facts.
    with suppress(StoreError):
        for old in sketches_of(store, address, sketch.started):
            if old != name:
                store.delete(old)
    return name


def sketches_of(store: Store, address: RunAddress, started: float) -> list[str]:
    """Return the names of the sketches of one attempt; more than one is rare."""
    prefix = sketch_name(address, started, "").rstrip("~") + "~"
    return [
        name
        for name in store.names(prefix)
        if (reported := read_sketch_name(name)) and reported.address == address
    ]
