"""The spool: segments on the local disk until the store has them.

Rows are written to the current segment's file as they come, so that a recorder that dies
leaves what it knew.  A segment leaves for the store 1 s after something abnormal, after
5 s, or at 8 MiB, whichever is first; the order of leaving is the order of writing.
"""

from __future__ import annotations

import os
import tempfile
import time
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from dask_blackbox.segments import frame, open_segment

__all__ = ["Spool", "checksum", "default_spool"]

_SOON, _LATER, _LARGE = 1.0, 5.0, 8 * 2**20


class Spool:
    """Segments of one recording in a folder of the local disk.

    Args:
        folder: The recording's own folder; made if missing.
        recording: Id of the recording.
        writer: Tells this recorder process from an earlier one of the same recording.
    """

    def __init__(self, folder: Path, recording: str, writer: str) -> None:
        self.folder = folder / "segments"
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._recording, self._writer = recording, writer
        self._number = 0
        self._file: IO[bytes] | None = None
        self._opened = self._due = 0.0
        self.failed: str | None = None
        self.lost_rows = 0

    def append(
        self,
        source: str,
        seq: int | None,
        at: float,
        rows: Mapping[str, Sequence[Sequence[Any]]],
        *,
        dropped: Mapping[str, int] | None = None,
        abnormal: bool = False,
    ) -> None:
        """Write a batch; a full disk loses it, which is counted and said."""
        try:
            if self._file is None:
                self._open()
            assert self._file is not None  # noqa: S101
            self._file.write(frame(source, seq, at, rows, dict(dropped or {})))
            self._file.flush()
        except OSError as error:
            self.failed = str(error)
            self.lost_rows += sum(len(each) for each in rows.values())
            return
        if abnormal:
            self._due = min(self._due, time.monotonic() + _SOON)

    def _open(self) -> None:
        self._number += 1
        path = self.folder / f"{self._writer}-{self._number:06d}.seg"
        self._file = path.open("wb")
        self._file.write(open_segment(self._recording, self._number))
        self._opened = time.monotonic()
        self._due = self._opened + _LATER

    def close_if_due(self, *, now: bool = False) -> None:
        """End the current segment if its time has come, so that it can leave."""
        if self._file is None:
            return
        if now or time.monotonic() >= self._due or self._file.tell() >= _LARGE:
            file, self._file = self._file, None
            try:
                file.close()
            except OSError as error:
                self.failed = str(error)

    def closed_segments(self) -> list[Path]:
        """Return the segments that will not change any more, oldest first."""
        current = None if self._file is None else Path(self._file.name)
        return [p for p in sorted(self.folder.glob("*.seg")) if p != current]


def default_spool() -> Path:
    """Return the folder that holds the spools of this user's recordings."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    return Path(tempfile.gettempdir()) / f"dask-blackbox-{user}" / "spool"


def checksum(blob: bytes) -> str:
    """Return the CRC-32 of a blob, hexadecimal."""
    return f"{zlib.crc32(blob):08x}"
