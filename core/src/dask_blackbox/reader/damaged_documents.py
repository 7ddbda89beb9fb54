"""Identity and end of a recording whose `run.json` or `complete.json` is damaged or missing.

The segments report the end in full: the recorder's last row is how the run ended.  A card and
the markers of the index report the state alone, which is no ground for a verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple, TypeVar

import msgspec

from dask_blackbox.analyse.run_state import last_sign_of_life, silent_for
from dask_blackbox.card import RunCard
from dask_blackbox.decoding import FAILURES
from dask_blackbox.errors import BlobNotFoundError, MalformedRecordingError
from dask_blackbox.events import RunEnded
from dask_blackbox.layout import RunAddress, index_names, read_index_name
from dask_blackbox.manifest import (
    STALE,
    DriverException,
    Ending,
    Manifest,
    Stopped,
    seal_is_whole,
)
from dask_blackbox.reader.documents import GONE, WRONG
from dask_blackbox.reader.recording_tables import checksum_fits
from dask_blackbox.run_tables import RunTables
from dask_blackbox.segments import Allowance, Segment, read_segment
from dask_blackbox.store import Store

_COMPLETE = "complete.json"
_T = TypeVar("_T")


class EvidenceOfEnd(NamedTuple):
    """How a run ended, known without `complete.json`.

    Attributes:
        ending: How.
        whole: Whether that is all of it; else only the state is known.
    """

    ending: Ending
    whole: bool


def evidence_of_end(
    run: RunTables, store: Store, folder: str, damaged: dict[str, str]
) -> EvidenceOfEnd | None:
    """Return the evidence of the end of a run; None if it may still run, or it is unknown.

    Args:
        run: The run, read from its segments.
        damaged: What could not be read; a `complete.json` that is gone is noted there.
    """
    marked = _marked_state(store, run)
    silent = silent_for(run) > STALE
    if _COMPLETE not in damaged and marked is None and not silent:
        return None  # it continues, or its recorder is about to finish it
    ending = end_in_segments(run)
    card = read_card(store, folder, {})
    state = marked or (None if card is None else card.state)
    if ending is None and state is None and _COMPLETE not in damaged:
        return None
    damaged.setdefault(_COMPLETE, GONE)
    if ending is not None:
        return EvidenceOfEnd(ending, whole=True)
    ended = last_sign_of_life(run)
    return EvidenceOfEnd(Ending(state=state or "lost", ended=ended), whole=False)


def end_in_segments(run: RunTables) -> Ending | None:
    """Return how a run ended by the recorder's last row; None if there is none."""
    reported = run.of(RunEnded)
    if not reported or reported[-1].state is None:
        return None
    end = reported[-1]
    return Ending(
        state=str(end.state),
        ended=end.at,
        lasted=end.lasted,
        exit_code=end.exit_code,
        exception=_converted(end.exception, DriverException),
        stopped=_converted(end.stopped, Stopped),
    )


def _converted(value: dict[str, object] | None, kind: type[_T]) -> _T | None:
    try:
        return None if value is None else msgspec.convert(value, kind)
    except FAILURES:
        return None


def _marked_state(store: Store, run: RunTables) -> str | None:
    """Return the state that the index knows a run to have reached, if it has ended."""
    manifest = run.manifest
    address = RunAddress.of_run(manifest)
    _, prefix = index_names(address, manifest.started, "")
    marked = (read_index_name(name) for name in store.names(prefix))
    states = {entry.state for entry in marked if entry is not None} - {"running"}
    # One that was taken for lost, and continued after all, reached another one.
    return next(iter(sorted(states - {"lost"}) or sorted(states)), None)


def read_card(
    store: Store, folder: str, damaged: dict[str, str], crc: str | None = None
) -> RunCard | None:
    """Return the card that the recorder wrote; None if there is none, or it is damaged.

    Args:
        damaged: What cannot be read is noted there.
        crc: Its checksum as it was noted, if it was.
    """
    name = "card.json"
    try:
        blob = store.get(f"{folder}{name}")
    except BlobNotFoundError:
        damaged[name] = GONE
        return None
    except MalformedRecordingError as error:
        damaged[name] = str(error)
        return None
    if not (seal_is_whole(blob) and checksum_fits(blob, crc)):
        damaged[name] = WRONG
        return None
    try:
        return RunCard.from_json(blob)
    except MalformedRecordingError as error:
        damaged[name] = str(error)
        return None


def manifest_by_other_evidence(store: Store, folder: str) -> Manifest | None:
    """Return job, run, attempt and start of a recording; None if they cannot be known.

    The card has its names as they are, its folder in their safe form.  Its start is in
    the index, and about that of its first rows.

    Raises:
        StoreError: if the store cannot be read.
    """
    segments = list(_segments(store, folder))
    card, address = read_card(store, folder, {}), RunAddress.at(folder)
    if card is not None:
        address = RunAddress.of_run(card)
    if address is None:
        return None
    started = _marked_start(store, address)
    if started is None:
        started = min((f.at for s in segments for f in s.frames), default=None)
    if started is None:
        return None
    recordings = Counter(each.recording for each in segments if each.recording)
    return Manifest(
        recording=next((name for name, _ in recordings.most_common(1)), ""),
        job=address.job if card is None else card.job,
        run_id=address.run if card is None else card.run_id,
        attempt=address.attempt,
        started=started,
    )


def _segments(store: Store, folder: str) -> Iterator[Segment]:
    allowance = Allowance()
    for name in list(store.names(f"{folder}segments/")):
        try:
            yield read_segment(store.get(name), allowance)
        except (BlobNotFoundError, MalformedRecordingError):
            continue


def _marked_start(store: Store, address: RunAddress) -> float | None:
    folder = index_names(address, 0.0, "")[1].rpartition("/")[0]
    for name in store.names(f"{folder}/"):
        entry = read_index_name(name)
        if entry is not None and entry.address == address:
            return entry.started_ms / 1000
    return None
