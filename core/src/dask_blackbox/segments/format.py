r"""The frame of the format: how a segment begins, and how its frames are distinguished.

    segment = header, frame, frame, …
    header  = magic (8), major (1), minor (1), length of the whole header (2),
              segment number (4), id of the recording (UTF-8), CRC-32 of the above (4)
    frame   = mark (4), length of the payload (4), codec (1), CRC-32 of the payload (4),
              CRC-32 of the 13 bytes above (4), payload

Numbers are little-endian and unsigned.  A frame's own CRC lets a reader trust its length,
and its mark lets it find the next frame behind a damaged one.  What is in a payload stands
in `batch.py`; docs/format.md has it all, with the history of versions.
"""

from __future__ import annotations

import struct
import zlib
from typing import NamedTuple

from dask_blackbox.errors import FutureFormatError, MalformedRecordingError

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
