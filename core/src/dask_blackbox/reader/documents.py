"""The small documents of a recording: read without loading what its tables need."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import msgspec

from dask_blackbox.decoding import checked
from dask_blackbox.errors import (
    BlackboxError,
    BlobNotFoundError,
    FutureFormatError,
    MalformedRecordingError,
    StoreError,
)
from dask_blackbox.layout import RunAddress, viewer_links
from dask_blackbox.manifest import (
    FORMAT,
    STALE,
    Ending,
    Heartbeat,
    Manifest,
    decode_ending,
    decode_heartbeat,
    decode_manifest,
    seal_is_whole,
)
from dask_blackbox.store import Store

GONE = "it is missing"
WRONG = "its checksum does not match"
"""What is said of blobs that are not as they were written."""

_LINKS = {"report": "report.html", "performance_report": "performance_report.html"}
_ACCURACY = 5.0  # seconds by which the time in a server's answer may be early

_T = TypeVar("_T")


class _Format(msgspec.Struct):
    format: int = FORMAT


# Made at import: see docs/decisions/0014-decoders-at-import.md.
_decode_format = checked(msgspec.json.Decoder(_Format).decode)


def read_manifest(store: Store, folder: str) -> Manifest:
    """Return who this recording is.

    Raises:
        BlobNotFoundError: if there is no `run.json`.
        MalformedRecordingError: if it is not one of ours.
        FutureFormatError: if it is of a newer version.
    """
    return _document(
        store.get(f"{folder}run.json"), decode_manifest, f"{folder}run.json"
    )


def read_ending(store: Store, folder: str, damaged: dict[str, str]) -> Ending | None:
    """Return how it ended; None if that was not written, or cannot be read."""
    name = "complete.json"
    try:
        return _document(store.get(f"{folder}{name}"), decode_ending, f"{folder}{name}")
    except BlobNotFoundError:
        return None
    except MalformedRecordingError as error:
        damaged[name] = str(error)
        return None


def last_heartbeat(store: Store, folder: str) -> float | None:
    """Return when the recorder was last known to live, in epoch seconds."""
    beat = read_heartbeat(store, folder)
    return None if beat is None else beat.at


def clock_ahead(store: Store, seen: float) -> float:
    """Return by how many seconds our clock is ahead of the store's, where that matters.

    That matters if there was no sign of life for long by our clock: if it is wrong, a run
    that continues would be called lost.

    Args:
        store: Whose clock is asked, if it is a server.
        seen: When the last sign of life was, in epoch seconds.
    """
    if time.time() - seen <= STALE:
        return 0.0
    server_time = getattr(store, "server_time", None)
    if server_time is None:
        return 0.0
    try:
        reported: float | None = server_time()
    except StoreError:
        return 0.0
    ahead = 0.0 if reported is None else time.time() - reported
    return ahead if ahead > _ACCURACY else 0.0


def is_silent(store: Store, seen: float) -> bool:
    """Return whether the last heartbeat is so old that the recorder counts as lost."""
    return time.time() - clock_ahead(store, seen) - seen > STALE


def read_heartbeat(store: Store, folder: str) -> Heartbeat | None:
    """Return the last heartbeat of a recorder; None if there is none, or it is damaged."""
    try:
        return decode_heartbeat(store.get(f"{folder}heartbeat.json"))
    except (BlobNotFoundError, MalformedRecordingError):
        return None


def _document(text: bytes, decode: Callable[[bytes], _T], name: str) -> _T:
    whole = seal_is_whole(text)
    try:
        found = _decode_format(text).format
        if found > FORMAT and whole:
            raise FutureFormatError(found=found, known=FORMAT)
        document = decode(text)
    except MalformedRecordingError as error:
        raise _damaged(name, str(error)) from error
    if not whole:
        raise _damaged(name, WRONG)
    return document


def _damaged(name: str, why: str) -> MalformedRecordingError:
    return MalformedRecordingError(
        f"{name} is damaged or was not written by dask-blackbox ({why}); fetch it "
        "again, or open another attempt of the run"
    )


def url_of(store: Store, folder: str) -> str:
    """Return how to name a folder of a store."""
    return f"{store.url}{'' if store.url.endswith('/') else '/'}{folder}"


def links_of(
    store: Store,
    address: RunAddress,
    *,
    expires: float,
    viewer: str | None = None,
    folder: str | None = None,
) -> dict[str, str]:
    """Return URLs of a recording and of its pages; these open once the pages are there.

    Args:
        expires: Seconds for which presigned URLs open.
        viewer: Address of the viewer in which they open instead, without expiring.
        folder: The recording's folder in the store, if it is not that of its address.
    """
    folder = address.folder if folder is None else folder
    links = {"recording": url_of(store, folder)}
    if viewer:
        return links | viewer_links(viewer, address)
    for name, page in _LINKS.items():
        try:
            url = store.link(f"{folder}{page}", expires=expires)
        except BlackboxError:  # without credentials nothing can be signed
            url = None
        links[name] = url or f"{links['recording']}{page}"
    return links
