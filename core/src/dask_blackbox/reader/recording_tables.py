"""Reads the tables of a recording from its blobs; what cannot be read is listed, not raised."""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

import polars as pl

from dask_blackbox.errors import BlobNotFoundError, MalformedRecordingError
from dask_blackbox.manifest import Ending
from dask_blackbox.patterns import bounded
from dask_blackbox.reader.documents import GONE, WRONG
from dask_blackbox.segments import Allowance, Batch, OverAllowanceError, read_segment
from dask_blackbox.store import Store
from dask_blackbox.tables import frames_of_batches, read_table

_AT_ONCE = 8
_NUMBERED = bounded(r"(.+)-(\d{6,})\.seg")
_MOST_SEGMENTS = 100_000


class Frames(dict[str, pl.DataFrame]):
    """The tables of a recording; each is read when it is first asked for.

    From Parquet where the recorder has come to the end, else from the segments; which is
    also where the rows of a table come from that is damaged.
    """

    def __init__(
        self,
        store: Store,
        folder: str,
        recording: str,
        *,
        ending: Ending | None,
        parquet: bool,
        damaged: dict[str, str],
    ) -> None:
        super().__init__()
        self._ending = ending
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
        """Return a table from its Parquet file; None if there is none, or it is damaged."""
        if not self._parquet:
            return None
        blob = f"tables/{name}.parquet"
        noted = {} if self._ending is None else self._ending.blobs
        try:
            table = self._store.get(f"{self._folder}{blob}")
            if checksum_fits(table, noted.get(blob)):
                return read_table(name, table)
            why = WRONG
        except OverAllowanceError as error:
            why = f"left out, because {error}"
        except (BlobNotFoundError, MalformedRecordingError, ValueError) as error:
            why = str(error)
        self._damaged[blob] = f"{why}; its rows were read from the segments"
        return None

    def _from_segments(self) -> dict[str, pl.DataFrame]:
        batches: list[Batch] = []
        folder, seen = f"{self._folder}segments/", set()
        names = list(self._store.names(folder))
        self._damaged.update(
            dict.fromkeys(
                self._absent(name.removeprefix(folder) for name in names), GONE
            )
        )
        allowance = Allowance()
        for name, blob in each_blob(self._store.get, names):
            short = name.removeprefix(folder)
            if blob is None:
                self._damaged[short] = "it disappeared while it was read"
                continue
            if isinstance(blob, MalformedRecordingError):
                self._damaged[short] = str(blob)
                continue
            same = (zlib.crc32(blob), len(blob))
            if same in seen:  # a copy: most rows would count twice
                continue
            seen.add(same)
            batches.extend(self._batches(short, blob, allowance))
        return frames_of_batches(batches)

    def _batches(self, name: str, blob: bytes, allowance: Allowance) -> list[Batch]:
        """Return the undamaged batches of a segment; damage is noted."""
        try:
            segment = read_segment(blob, allowance)
        except MalformedRecordingError as error:
            self._damaged[name] = str(error)
            return []
        if segment.recording not in {"", self._recording}:
            self._damaged[name] = f"it belongs to {segment.recording!r}"
            return []
        if segment.damage is not None:
            self._damaged[name] = segment.damage
        return segment.frames

    def _absent(self, names: Iterable[str]) -> set[str]:
        """Return the segments that should be there: noted, or between two that are."""
        there = set(names)
        wanted = set(self._ending.segments) if self._ending is not None else set()
        last: dict[str, int] = {}
        for name in there:
            if found := _NUMBERED.fullmatch(name):
                last[found[1]] = max(last.get(found[1], 0), int(found[2]))
        if self._ending is None:
            wanted = {
                f"{writer}-{number:06d}.seg"
                for writer, most in last.items()
                for number in range(1, min(most, _MOST_SEGMENTS))
            }
        return wanted - there


def checksum_fits(blob: bytes, crc: str | None) -> bool:
    """Return whether a blob has the checksum that was noted, if one was."""
    return crc is None or f"{zlib.crc32(blob):08x}" == crc


def each_blob(
    get: Callable[[str], bytes], names: list[str]
) -> Iterator[tuple[str, bytes | MalformedRecordingError | None]]:
    """Yield each blob in the order of `names`, a few of them fetched ahead.

    None stands for one that is not there, an error for one that is not read.
    """

    def got(name: str) -> bytes | MalformedRecordingError | None:
        try:
            return get(name)
        except BlobNotFoundError:
            return None
        except MalformedRecordingError as error:
            return error

    with ThreadPoolExecutor(_AT_ONCE) as fetching:
        # Not `map`, which fetches all of them before the first one has been used.
        ahead = deque(fetching.submit(got, name) for name in names[:_AT_ONCE])
        for place, name in enumerate(names):
            blob = ahead.popleft().result()
            if place + _AT_ONCE < len(names):
                ahead.append(fetching.submit(got, names[place + _AT_ONCE]))
            yield name, blob
