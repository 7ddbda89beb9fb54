"""From the blobs of one recording to its facts; what cannot be read is named, not raised."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import msgspec
import polars as pl

from dask_blackbox.errors import (
    BlobNotFoundError,
    FutureFormatError,
    MalformedRecordingError,
)
from dask_blackbox.manifest import FORMAT, Ending, Manifest
from dask_blackbox.segments import Batch, read_segment
from dask_blackbox.store import Store
from dask_blackbox.tables import frames_of_batches, read_table

__all__ = ["Frames", "last_heartbeat", "read_ending", "read_manifest", "url_of"]

_T = TypeVar("_T")
_AT_ONCE = 8


class _Format(msgspec.Struct):
    format: int = FORMAT


class _Heartbeat(msgspec.Struct):
    at: float


def read_manifest(store: Store, folder: str) -> Manifest:
    """Return who this recording is.

    Raises:
        BlobNotFoundError: if there is no `run.json`.
        MalformedRecordingError: if it is not one of ours.
        FutureFormatError: if it is of a newer version.
    """
    return _document(store.get(f"{folder}run.json"), Manifest, f"{folder}run.json")


def read_ending(store: Store, folder: str, damaged: dict[str, str]) -> Ending | None:
    """Return how it ended; None if nobody has said so, or not legibly."""
    name = "complete.json"
    try:
        return _document(store.get(f"{folder}{name}"), Ending, f"{folder}{name}")
    except BlobNotFoundError:
        return None
    except MalformedRecordingError as error:
        damaged[name] = str(error)
        return None


def last_heartbeat(store: Store, folder: str) -> float | None:
    """Return when the recorder was last known to live, in epoch seconds."""
    try:
        told = store.get(f"{folder}heartbeat.json")
        return msgspec.json.decode(told, type=_Heartbeat).at
    except (BlobNotFoundError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _document(text: bytes, kind: type[_T], name: str) -> _T:
    try:
        found = msgspec.json.decode(text, type=_Format).format
        if found > FORMAT:
            raise FutureFormatError(found=found, known=FORMAT)
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise MalformedRecordingError(
            f"{name} is damaged or not of dask-blackbox ({error}); "
            "fetch it again, or open another attempt of the run"
        ) from error


def url_of(store: Store, folder: str) -> str:
    """Return how to name a folder of a store."""
    return f"{store.url}{'' if store.url.endswith('/') else '/'}{folder}"


class Frames(dict[str, pl.DataFrame]):
    """The tables of a recording; each is read when it is first asked for.

    From Parquet where the recorder has come to the end, else from the segments.
    """

    def __init__(
        self,
        store: Store,
        folder: str,
        recording: str,
        *,
        parquet: bool,
        damaged: dict[str, str],
    ) -> None:
        super().__init__()
        self._store, self._folder, self._recording = store, folder, recording
        self._damaged = damaged
        self._parquet = parquet

    def __missing__(self, name: str) -> pl.DataFrame:
        frame = self.stored(name)
        if frame is None:
            segments = self._from_segments()
            # What was already handed out stays the same object.
            self.update(
                {key: each for key, each in segments.items() if key not in self}
            )
            frame = segments[name]
        self[name] = frame
        return frame

    def stored(self, name: str) -> pl.DataFrame | None:
        """Return a table from its Parquet; None if there is none, or not legibly."""
        if not self._parquet:
            return None
        blob = f"tables/{name}.parquet"
        try:
            return read_table(name, self._store.get(f"{self._folder}{blob}"))
        except (BlobNotFoundError, ValueError) as error:
            self._damaged[blob] = str(error)
            return None

    def _from_segments(self) -> dict[str, pl.DataFrame]:
        batches: list[Batch] = []
        names = list(self._store.names(f"{self._folder}segments/"))
        for name, blob in _each(self._store.get, names):
            short = name.removeprefix(f"{self._folder}segments/")
            if blob is None:
                self._damaged[short] = "it went away while it was read"
                continue
            try:
                segment = read_segment(blob)
            except MalformedRecordingError as error:
                self._damaged[short] = str(error)
                continue
            if segment.recording not in {"", self._recording}:
                self._damaged[short] = f"it belongs to {segment.recording!r}"
                continue
            if segment.damage is not None:
                self._damaged[short] = segment.damage
            batches.extend(segment.frames)
        return frames_of_batches(batches)


def _each(
    get: Callable[[str], bytes], names: list[str]
) -> Iterator[tuple[str, bytes | None]]:
    """Yield each blob in the order of `names`; a few are fetched at once."""

    def got(name: str) -> bytes | None:
        try:
            return get(name)
        except BlobNotFoundError:
            return None

    with ThreadPoolExecutor(_AT_ONCE) as fetching:
        yield from zip(names, fetching.map(got, names), strict=True)
