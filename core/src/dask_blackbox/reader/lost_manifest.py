"""Who a recording is where its `run.json` is damaged or gone: by all else that is there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from dask_blackbox.errors import BlobNotFoundError, MalformedRecordingError
from dask_blackbox.layout import RunAddress, index_names, read_index_name
from dask_blackbox.manifest import Manifest
from dask_blackbox.reader.evidence import read_card
from dask_blackbox.segments import Segment, read_segment
from dask_blackbox.store import Store


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
        address = RunAddress.of(card.job, card.run_id, card.attempt)
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
    for name in list(store.names(f"{folder}segments/")):
        try:
            yield read_segment(store.get(name))
        except (BlobNotFoundError, MalformedRecordingError):
            continue


def _marked_start(store: Store, address: RunAddress) -> float | None:
    folder = index_names(address, 0.0, "")[1].rpartition("/")[0]
    for name in store.names(f"{folder}/"):
        entry = read_index_name(name)
        if entry is not None and entry.address == address:
            return entry.started_ms / 1000
    return None
