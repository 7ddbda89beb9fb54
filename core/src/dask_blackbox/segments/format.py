r"""The frame of the format: how a segment begins, and how its frames are distinguished.

    segment = header, frame, frame, …
    header  = magic (8), major (1), minor (1), length of the whole header (2),
              segment number (4), id of the recording (UTF-8), CRC-32 of the above (4)
    frame   = mark (4), length of the payload (4), codec (1), CRC-32 of the payload (4),
              CRC-32 of the 13 bytes above (4), payload

Numbers are little-endian and unsigned.  A frame's own CRC lets a reader trust its length,
and its mark lets it find the next frame behind a damaged one.  What is in a payload stands
in `batch.py`; docs/format.md has it all, with the history of versions.

The writer: a segment in memory, or frame by frame into a file that may end anywhere.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from typing import NamedTuple

from dask_blackbox.errors import FutureFormatError, MalformedRecordingError
from dask_blackbox.events import Rows
from dask_blackbox.segments.batch import encode_batch

MAGIC = b"\x8bBBX\r\n\x1a\n"  # as PNG's: a transfer as text breaks it visibly
MAJOR, MINOR = 1, 1
MARK = b"\xf7BF\x0e"
ZLIB_MSGPACK = 1

_HEADER = struct.Struct("<8sBBHI")
FRAME = struct.Struct("<4sIBII")
_CRC = struct.Struct("<I")
_LONGEST_ID = 1000


class Header(NamedTuple):
    """What a segment says of itself, and where its first frame begins."""

    recording: str
    number: int | None
    end: int
    damage: str | None


def header_bytes(recording: str, number: int) -> bytes:
    """Return the beginning of a segment."""
    name = recording.encode()[:_LONGEST_ID]
    length = _HEADER.size + len(name) + _CRC.size
    start = _HEADER.pack(MAGIC, MAJOR, MINOR, length, number) + name
    return start + _CRC.pack(zlib.crc32(start))


def frame_bytes(payload: bytes, codec: int) -> bytes:
    """Return a payload in its frame."""
    start = FRAME.pack(MARK, len(payload), codec, zlib.crc32(payload), 0)[:-4]
    return start + _CRC.pack(zlib.crc32(start)) + payload


def read_header(blob: bytes) -> Header:
    """Return what a segment says of itself, as far as it is there.

    Raises:
        MalformedRecordingError: if this is not a segment.
        FutureFormatError: if it has a newer format than this reader knows.
    """
    if not blob.startswith(MAGIC[: len(blob)]):
        raise MalformedRecordingError(
            "these bytes are not a segment of a dask-blackbox recording; segments are "
            "the files *.seg in a recording's folder segments/"
        )
    if len(blob) < _HEADER.size:
        return Header("", None, len(blob), _cut(len(blob)))
    _, major, _, length, number = _HEADER.unpack_from(blob)
    if len(blob) < length and MARK not in blob:
        return Header("", number, len(blob), _cut(len(blob)))
    start, crc = blob[: length - _CRC.size], blob[length - _CRC.size : length]
    if length < _HEADER.size + _CRC.size or crc != _CRC.pack(zlib.crc32(start)):
        return Header("", None, _HEADER.size, "the header is damaged (bytes 8 and on)")
    if major > MAJOR:
        raise FutureFormatError(found=major, known=MAJOR)
    name = start[_HEADER.size :].decode("utf-8", "replace")
    return Header(name, number, length, None)


def _cut(length: int) -> str:
    return f"cut off at byte {length}, in its header"


def open_segment(recording: str, number: int) -> bytes:
    """Return what a segment begins with.

    Args:
        number: Of the segment among those of its writer.
    """
    return header_bytes(recording, number)


def frame(
    source: str,
    seq: int | None,
    at: float,
    rows: Rows,
    dropped: Mapping[str, int] | None = None,
) -> bytes:
    """Return a batch as a frame, to be appended to a segment.

    Args:
        source: Where the rows came from.
        seq: Number of the batch among those of its source; None where they aren't counted.
        at: When it was taken, epoch seconds.
        rows: By kind, each row in the order of `events.COLUMNS`.
        dropped: Rows that the source had to drop so far, by kind.

    Raises:
        ValueError: for more than `MOST_ROWS` rows of a kind.
    """
    return frame_bytes(encode_batch(source, seq, at, rows, dropped), ZLIB_MSGPACK)


class SegmentWriter:
    """A segment in memory."""

    def __init__(self, recording: str, number: int) -> None:
        self._parts = [open_segment(recording, number)]
        self.size = len(self._parts[0])
        self.rows = 0

    def append(
        self,
        source: str,
        seq: int | None,
        at: float,
        rows: Rows,
        dropped: Mapping[str, int] | None = None,
    ) -> None:
        """Add a batch; see `frame`."""
        part = frame(source, seq, at, rows, dropped)
        self._parts.append(part)
        self.size += len(part)
        self.rows += sum(len(each) for each in rows.values())

    def close(self) -> bytes:
        """Return the segment."""
        return b"".join(self._parts)
