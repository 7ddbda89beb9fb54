r"""The format of a segment: how its frames are distinguished, written and read.

    segment = header, frame, frame, …
    header  = magic (8), major (1), minor (1), length of the whole header (2),
              segment number (4), id of the recording (UTF-8), CRC-32 of the above (4)
    frame   = mark (4), length of the payload (4), codec (1), CRC-32 of the payload (4),
              CRC-32 of the 13 bytes above (4), payload

Numbers are little-endian and unsigned.  A frame's own CRC lets a reader trust its length,
and its mark lets it find the next frame behind a damaged one.  What is in a payload is
described in `batch.py`; docs/format.md has it all, with the history of versions.

The writer makes a segment in memory, or frame by frame in a file that may end anywhere.
The reader returns whatever is whole, and names what is not.  It checks lengths, checksums
and counts before it takes memory, and never unpickles anything.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from dask_blackbox.errors import (
    FutureFormatError,
    MalformedRecordingError,
    OverLimitError,
)
from dask_blackbox.events import Rows
from dask_blackbox.segments.allowance import Allowance, OverAllowanceError
from dask_blackbox.segments.batch import Batch, decode_batch, encode_batch

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


def _header_bytes(recording: str, number: int) -> bytes:
    """Return the beginning of a segment."""
    name = recording.encode()[:_LONGEST_ID]
    length = _HEADER.size + len(name) + _CRC.size
    start = _HEADER.pack(MAGIC, MAJOR, MINOR, length, number) + name
    return start + _CRC.pack(zlib.crc32(start))


def frame_bytes(payload: bytes, codec: int) -> bytes:
    """Return a payload in its frame."""
    start = FRAME.pack(MARK, len(payload), codec, zlib.crc32(payload), 0)[:-4]
    return start + _CRC.pack(zlib.crc32(start)) + payload


def _read_header(blob: bytes) -> Header:
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
    return _header_bytes(recording, number)


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


_MOST_LISTED = 5


@dataclass
class Segment:
    """A segment read back.

    Attributes:
        recording: Id of the recording; empty where the header is not whole.
        number: Of the segment; None where the header is not whole.
        frames: The batches that are whole, in order.
        damage: What is missing or damaged, and where; None if nothing is.
    """

    recording: str
    number: int | None
    frames: list[Batch] = field(default_factory=list)
    damage: str | None = None


def read_segment(blob: bytes, allowance: Allowance | None = None) -> Segment:
    """Read a segment, or as much of it as there is.

    Args:
        allowance: What its recording may still become; None: it is read alone.

    Raises:
        MalformedRecordingError: if this is not a segment at all.
        FutureFormatError: if it has a newer format than this reader knows.
    """
    header = _read_header(blob)
    allowance = allowance or Allowance()
    try:
        allowance.add_stored(len(blob))
    except OverAllowanceError as error:
        raise OverLimitError("a segment", str(error)) from None
    segment = Segment(header.recording, header.number)
    damages = [header.damage] if header.damage else []
    place, number = header.end, 0
    if header.damage:
        place = _next_frame(blob, place)
    while place < len(blob):
        number += 1
        end, damage = _frame_at(blob, place)
        batch = None if damage else _batch(blob[place + FRAME.size : end], allowance)
        if isinstance(batch, Batch):
            segment.frames.append(batch)
        else:
            damages.append(f"frame {number} at byte {place} {damage or batch}")
        place = end
    if damages:
        more = len(damages) - _MOST_LISTED
        text = "; ".join(damages[:_MOST_LISTED])
        segment.damage = f"{text}; and {more} more" if more > 0 else text
    return segment


def _batch(payload: bytes, allowance: Allowance) -> Batch | str:
    """Return the batch of a payload, or what is wrong with it."""
    try:
        return decode_batch(payload, allowance)
    except OverAllowanceError as error:
        return f"was left out, because {error}"
    except ValueError as error:
        return f"cannot be decoded ({error})"


def _frame_at(blob: bytes, place: int) -> tuple[int, str | None]:
    """Return where the frame at `place` ends, and what is wrong with it."""
    start = blob[place : place + FRAME.size]
    if len(start) < FRAME.size and MARK.startswith(start[: len(MARK)]):
        return len(blob), f"is cut off after {len(start)} bytes"
    if not _is_frame(blob, place):
        return _next_frame(blob, place + 1), "is damaged (checksum of its header)"
    _, length, codec, crc, _ = FRAME.unpack(start)
    end = place + FRAME.size + length
    if end > len(blob):
        there, whole = len(blob) - place, FRAME.size + length
        return _next_frame(
            blob, place + 1
        ), f"is cut off after {there} of {whole} bytes"
    if zlib.crc32(memoryview(blob)[place + FRAME.size : end]) != crc:
        # Not `end`: where bytes are missing, the next frame begins before it.
        return _next_frame(blob, place + 1), "is damaged (checksum of its rows)"
    damage = None
    if codec != ZLIB_MSGPACK:
        damage = f"has codec {codec}, which this dask-blackbox does not know"
    return end, damage


def _is_frame(blob: bytes, place: int) -> bool:
    start = blob[place : place + FRAME.size]
    if len(start) < FRAME.size or not start.startswith(MARK):
        return False
    return zlib.crc32(start[:-4]) == int.from_bytes(start[-4:], "little")


def _next_frame(blob: bytes, place: int) -> int:
    """Return where the next frame whose header is intact starts, from `place` on."""
    while (place := blob.find(MARK, place)) >= 0:
        if _is_frame(blob, place):
            return place
        place += 1
    return len(blob)
