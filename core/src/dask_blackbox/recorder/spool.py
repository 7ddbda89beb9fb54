"""The spool: segments on the local disk until the store has them.

Rows are written to the current segment's file as they arrive, so that they survive a
recorder that dies.  A segment leaves for the store 1 s after something abnormal, after
5 s, or at 8 MiB, whichever is first; the order of leaving is the order of writing.

A full disk or a deleted folder costs nothing while the store
works: such segments wait in memory, as far as they fit.  Where only
some rows fit, the least important are dropped first (`LAST`), from what
waits as well.  What has to be dropped is counted, and the card says so.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import stat
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dask_blackbox import formatting
from dask_blackbox.errors import BlackboxError
from dask_blackbox.events import Rows
from dask_blackbox.manifest import SourceAccount
from dask_blackbox.private_files import make_private_folder
from dask_blackbox.segments import frame, open_segment, read_segment

EVERYTHING, _EXPLAINING, LAST = 0, 1, 2
"""The least rank that is kept: all rows; without prints and samples; only the most important."""

_BY_KIND = {"error": LAST, "event": LAST, "task": _EXPLAINING, "log": EVERYTHING}
_KIND, _LEVEL, _WARNING = 1, 6, 30  # places in the rows of events and log lines
_TOTALS = (
    "fine-metrics",
    "host-overloaded",
    "process-load",
    "profile",
    "scheduler-load",
)


def _rank_of(kind: str, row: Sequence[object]) -> int:
    if kind == "event" and row[_KIND] in _TOTALS:
        return EVERYTHING
    if kind == "log":
        level = row[_LEVEL]
        return (
            _EXPLAINING if isinstance(level, int) and level >= _WARNING else EVERYTHING
        )
    return _BY_KIND.get(kind, EVERYTHING)


def _kept_of(rows: Rows, least: int) -> tuple[Rows, Counter[str]]:
    """Return the rows of a rank and above, and how many of each kind are not.

    Args:
        least: The least rank that is kept.
    """
    if least == EVERYTHING:
        return rows, Counter()
    kept = {
        kind: [row for row in each if _rank_of(kind, row) >= least]
        for kind, each in rows.items()
    }
    lost = Counter({kind: len(each) - len(kept[kind]) for kind, each in rows.items()})
    return {kind: each for kind, each in kept.items() if each}, +lost


def thinned(
    blob: bytes, recording: str, number: int, least: int
) -> tuple[bytes, Counter[str]]:
    """Return a segment without the rows below a rank, and how many those were.

    Args:
        least: The least rank that is kept.

    Raises:
        MalformedRecordingError: if it cannot be read.
    """
    parts, lost = [open_segment(recording, number)], Counter[str]()
    for batch in read_segment(blob).frames:
        kept, dropped = _kept_of(batch.rows, least)
        lost += dropped
        if kept:
            parts.append(frame(batch.source, batch.seq, batch.at, kept, batch.dropped))
    return b"".join(parts), lost


logger = logging.getLogger("dask_blackbox.recorder")

_SOON, _LATER, _LARGE = 1.0, 5.0, 8 * 2**20
_THINNED = 0.75  # of the quota, so that not every row has a segment rewritten


Take = Callable[[str, int | None, float, Rows, dict[str, int]], None]
"""Takes source, sequence number, time, rows and drop counts of a batch."""


@dataclass
class _Segment:
    """A segment that is being written."""

    path: Path
    due: float
    data: bytearray
    file: int | None = None
    counts: Counter[str] = field(default_factory=Counter)


class Spool:
    """Segments of one recording in a folder of the local disk.

    Args:
        folder: The recording's own folder; made if missing.
        writer: Distinguishes this recorder process from an earlier one of the same recording.
        quota: Bytes that its segments may take.
    """

    def __init__(
        self, folder: Path, recording: str, writer: str, *, quota: int = 2**31
    ) -> None:
        self.folder = folder / "segments"
        self._recording, self._writer, self._quota = recording, writer, quota
        self._number = 0
        self._current: _Segment | None = None
        self._lock = threading.Lock()  # the uploader looks from its own thread
        self._held: dict[str, bytes] = {}
        self._counts: dict[str, Counter[str]] = {}
        self._closed: dict[str, float] = {}
        self._sizes: dict[str, int] = {}
        self._uploaded: set[str] = set()
        self._thinned: dict[str, int] = {}
        self._dropped: Counter[str] = Counter()
        self._least = EVERYTHING
        self._why: str | None = None
        with contextlib.suppress(OSError):
            make_private_folder(self.folder)
            for path in sorted(self.folder.glob("*.seg")):  # of a recorder that died
                size = path.stat().st_size
                if not size:  # it died before it wrote anything: nothing is missing
                    path.unlink()
                    continue
                self._closed[path.name] = time.monotonic()
                self._sizes[path.name] = size

    # Rows

    def append(
        self,
        source: str,
        seq: int | None,
        at: float,
        rows: Rows,
        *,
        dropped: Mapping[str, int] | None = None,
        abnormal: bool = False,
    ) -> None:
        """Write a batch; rows that do not fit are counted."""
        with self._lock:
            fitting = self._that_fit(rows)
            if rows and not fitting:
                return
            rows = fitting
            current = self._current = self._current or self._opened()
            current.counts.update({kind: len(each) for kind, each in rows.items()})
            part = frame(source, seq, at, rows, dict(dropped or {}))
            current.data += part
            self._write(current, part)
            if abnormal:
                current.due = min(current.due, time.monotonic() + _SOON)
            if (size := self._size()) >= self._quota:
                self._thin(size - self._free_space())

    def _that_fit(self, rows: Rows) -> Rows:
        size = self._size()
        if size >= self._quota or self._least > EVERYTHING:
            gained = self._free_space()
            size -= gained
            if gained and size < self._quota:
                self._least = EVERYTHING
        size = self._thin(size)
        kept, lost = _kept_of(rows, self._least)
        if size >= self._quota + IN_MEMORY:
            kept, lost = {}, Counter({kind: len(each) for kind, each in rows.items()})
        if lost:
            self._drop(lost, self._limit())
        return kept

    def _limit(self) -> str:
        return f"its limit is {formatting.size(self._quota)}"

    def _thin(self, size: int) -> int:
        """Remove the least informative rows from waiting segments; return the rest.

        Out of the oldest first: what was printed last matters most.
        """
        why = self._limit()
        while size >= self._quota and self._least < LAST:
            current, self._current = self._current, None
            if current is not None:
                self._close(current)
            for name in self._waiting():
                size -= self._thin_segment(name, why, self._least + 1)
                if size < self._quota * _THINNED:
                    return size
            if size >= self._quota:
                self._least += 1
        return size

    def _thin_all(self, why: str) -> int:
        """Remove the rows of one more rank from waiting segments; return the bytes freed."""
        self._least += 1
        return sum(
            self._thin_segment(name, why, self._least) for name in self._waiting()
        )

    def _waiting(self) -> list[str]:
        return [name for name in self._closed if name not in self._uploaded]

    def _thin_segment(self, name: str, why: str, least: int) -> int:
        """Rewrite a segment in place, which needs no space; return the bytes gained."""
        if self._thinned.get(name, EVERYTHING) >= least:
            return 0
        self._thinned[name] = least
        number = name.removesuffix(".seg").rpartition("-")[2]
        try:
            blob = self.read(name)
            smaller, lost = thinned(blob, self._recording, int(number), least)
            if not lost:
                return 0
            if name in self._held:
                self._held[name] = smaller
            else:
                with (self.folder / name).open("r+b") as file:
                    file.write(smaller)
                    file.truncate()
                self._sizes[name] = len(smaller)
        except (OSError, ValueError, BlackboxError) as error:
            logger.warning("%s is left unchanged: %s", name, error)
            return 0
        self._counts.setdefault(name, Counter()).subtract(lost)
        self._drop(lost, why)
        return len(blob) - len(smaller)

    def _size(self) -> int:
        held = sum(len(blob) for blob in self._held.values())
        current = 0 if self._current is None else len(self._current.data)
        return sum(self._sizes.values()) + held + current

    def _free_space(self) -> int:
        """Delete what the store has, from where it can be read; return the bytes gained."""
        gained = 0
        for name in sorted(self._uploaded & set(self._sizes)):
            with contextlib.suppress(OSError):
                (self.folder / name).unlink(missing_ok=True)
                gained += self._sizes.pop(name)
        return gained

    def _drop(self, counts: Counter[str], why: str) -> None:
        if self._why is None:
            logger.warning("rows are dropped: %s", why)
        self._why = why
        self._dropped += counts

    # The current segment

    def _opened(self) -> _Segment:
        self._number += 1
        path = self.folder / f"{self._writer}-{self._number:06d}.seg"
        now = time.monotonic()
        start = bytearray(open_segment(self._recording, self._number))
        segment = _Segment(path, now + _LATER, start)
        self._put_on_disk(segment)
        return segment

    def _put_on_disk(self, segment: _Segment) -> None:
        if self._size() >= self._quota:  # only what is never dropped comes this far
            return
        try:
            make_private_folder(self.folder)
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            segment.file = os.open(segment.path, flags, 0o600)
            _write_all(segment.file, segment.data)
        except OSError as error:
            self._off_disk(segment, error)

    def _off_disk(self, segment: _Segment, error: OSError) -> None:
        """Continue in memory; half a file would only waste space."""
        logger.warning("the spool cannot be written: %s", error)
        file, segment.file = segment.file, None
        with contextlib.suppress(OSError):
            if file is not None:
                os.close(file)
            segment.path.unlink(missing_ok=True)

    def _write(self, segment: _Segment, part: bytes) -> None:
        if segment.file is None:
            return
        try:
            _write_all(segment.file, part)
            if os.fstat(segment.file).st_nlink:
                return
        except OSError as error:
            self._off_disk(segment, error)
            return
        logger.warning("%s was deleted; writing it again", segment.path)
        with contextlib.suppress(OSError):
            os.close(segment.file)
        segment.file = None
        self._put_on_disk(segment)

    def close_if_due(self, *, now: bool = False) -> None:
        """End the current segment if its time has come, so that it can leave."""
        with self._lock:
            current = self._current
            if current is None:
                return
            large = len(current.data) >= _LARGE
            if not (now or large or time.monotonic() >= current.due):
                return
            self._current = None
            self._close(current)

    def _close(self, segment: _Segment) -> None:
        if segment.file is None:
            self._put_on_disk(segment)  # there may be space by now
        name = segment.path.name
        if segment.file is not None:
            with contextlib.suppress(OSError):
                os.close(segment.file)
            self._sizes[name] = len(segment.data)
        else:
            self._hold(name, segment)
            return
        self._counts[name] = segment.counts
        self._closed[name] = time.monotonic()

    def _hold(self, name: str, segment: _Segment) -> None:
        """Keep a segment in memory; the least important makes space for it."""
        why = f"{self.folder} cannot be written, and the store does not accept the data"
        self._held[name] = bytes(segment.data)
        self._counts[name] = segment.counts
        self._closed[name] = time.monotonic()
        while self._held_bytes() > IN_MEMORY and self._least < LAST:
            self._thin_all(why)
        if self._held_bytes() > IN_MEMORY:
            del self._held[name], self._closed[name]
            self._drop(+self._counts.pop(name), why)

    def _held_bytes(self) -> int:
        return sum(len(blob) for blob in self._held.values())

    # Closed segments

    def waiting(self) -> list[str]:
        """Return the names of those that the store does not have, oldest first."""
        with self._lock:
            return self._waiting()

    def age(self, name: str) -> float:
        """Return for how many seconds a segment has been closed."""
        return time.monotonic() - self._closed.get(name, time.monotonic())

    def here(self) -> list[str]:
        """Return the names of those that are here; of others, the store has them."""
        with self._lock:
            return [
                name
                for name in self._closed
                if name in self._held
                or name not in self._uploaded
                or (self.folder / name).is_file()
            ]

    def read(self, name: str) -> bytes:
        """Return a segment.

        Raises:
            OSError: if it is not here (any more).
        """
        held = self._held.get(name)
        return (self.folder / name).read_bytes() if held is None else held

    def uploaded(self, name: str) -> None:
        """Note that the store has a segment; a segment in memory is dropped."""
        with self._lock:
            self._uploaded.add(name)
            held = self._held.pop(name, None)
            if held is not None and self._size() < self._quota:
                self._least = EVERYTHING
            self._counts.pop(name, None)

    def lost(self, name: str) -> None:
        """Note that a segment is not there any more, and was nowhere else."""
        with self._lock:
            self._closed.pop(name, None)
            self._sizes.pop(name, None)
            counts = self._counts.pop(name, Counter())
            self._drop(counts, f"{name} was deleted before the store had it")

    def settle(self) -> None:
        """Write segments from memory to the disk, as far as there is space."""
        with self._lock:
            while (error := self._settle_held()) is not None and self._least < LAST:
                self._thin_all(f"{self.folder} cannot be written: {error}")
            for name in list(self._held) if error is not None else ():
                del self._held[name], self._closed[name]
                counts = self._counts.pop(name, Counter())
                self._drop(+counts, f"{self.folder} cannot be written: {error}")

    def _settle_held(self) -> OSError | None:
        """Write what is held to the disk; return why that is not possible of some."""
        failed: OSError | None = None
        for name, blob in list(self._held.items()):
            path = self.folder / name
            try:
                make_private_folder(self.folder)
                path.write_bytes(blob)
            except OSError as error:
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)
                failed = error
                continue
            self._sizes[name] = len(blob)
            del self._held[name]
        return failed

    @property
    def account(self) -> SourceAccount | None:
        """What had to be dropped, and why; None if nothing had to be."""
        if self._why is None:
            return None
        return SourceAccount(dropped=dict(self._dropped), error=self._why)


def _write_all(file: int, data: bytes | bytearray) -> None:
    done = 0
    # Released at once, also if an exception is kept: `data` grows later.
    with memoryview(data) as view:
        while done < len(view):
            with view[done:] as rest:
                done += os.write(file, rest)


def checksum(blob: bytes) -> str:
    """Return the CRC-32 of a blob, hexadecimal."""
    return f"{zlib.crc32(blob):08x}"


IN_MEMORY = 32 * 2**20
"""Bytes that are held in memory where nothing can be written."""


_SHARE = 10
_LEAST = 8


def quota_for(folder: Path, limit: int) -> int:
    """Return how many bytes the segments of a recording may take in its spool folder.

    All recordings that wait beside it count together against `limit`; but since the
    newest is wanted most, it always has an eighth.  No recording takes more than a tenth
    of what is free when it begins: a full disk would hurt the user more than a gap.  Of
    without any space (a full disk, a file system without files of its own), memory
    holds some.

    Args:
        limit: The setting `blackbox.spool-limit`, bytes.
    """
    others = 0
    with contextlib.suppress(OSError):
        for each in folder.parent.iterdir():
            if each != folder:
                others += size_of(each)
    quota = max(limit - others, limit // _LEAST)
    for place in (folder, *folder.parents):
        with contextlib.suppress(OSError):
            free = shutil.disk_usage(place).free
            return min(quota, free // _SHARE if free else IN_MEMORY)
    return quota


def size_of(folder: Path) -> int:
    """Return how many bytes the files below a folder have."""
    size = 0
    with contextlib.suppress(OSError):
        for each in folder.rglob("*"):
            with contextlib.suppress(OSError):
                reported = each.lstat()
                size += reported.st_size if stat.S_ISREG(reported.st_mode) else 0
    return size
