"""The reader: gives back whatever is whole, and names what is not.

It trusts nothing: lengths, checksums and counts are checked before memory is taken, and
nothing is ever unpickled.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

from dask_blackbox.segments.batch import Batch, decode_batch
from dask_blackbox.segments.format import FRAME, MARK, ZLIB_MSGPACK, read_header

_MOST_ROWS = 2**24  # in one segment: many times what 8 MiB hold
_MOST_SAID = 5


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


def read_segment(blob: bytes) -> Segment:
    """Read a segment, or as much of it as there is.

    Raises:
        MalformedRecordingError: if this is not a segment at all.
        FutureFormatError: if it has a newer format than this reader knows.
    """
    header = read_header(blob)
    segment = Segment(header.recording, header.number)
    damages = [header.damage] if header.damage else []
    place, number, rows = header.end, 0, 0
    if header.damage:
        place = _next_frame(blob, place)
    while place < len(blob):
        number += 1
        end, damage = _frame_at(blob, place)
        batch = None if damage else _batch(blob[place + FRAME.size : end], rows)
        if isinstance(batch, Batch):
            segment.frames.append(batch)
            rows += sum(batch.counts.values())
        else:
            damages.append(f"frame {number} at byte {place} {damage or batch}")
        place = end
    if damages:
        more = len(damages) - _MOST_SAID
        text = "; ".join(damages[:_MOST_SAID])
        segment.damage = f"{text}; and {more} more" if more > 0 else text
    return segment


def _batch(payload: bytes, rows: int) -> Batch | str:
    """Return the batch of a payload, or what is wrong with it."""
    try:
        batch = decode_batch(payload)
    except ValueError as error:
        return f"cannot be decoded ({error})"
    if rows + sum(batch.counts.values()) > _MOST_ROWS:
        return f"would make it more than {_MOST_ROWS} rows in one segment"
    return batch


def _frame_at(blob: bytes, place: int) -> tuple[int, str | None]:
    """Return where the frame at `place` ends, and what is wrong with it."""
    start = blob[place : place + FRAME.size]
    if len(start) < FRAME.size and MARK.startswith(start[: len(MARK)]):
        return len(blob), f"is cut off after {len(start)} bytes"
    if not _is_frame(blob, place):
        return _next_frame(blob, place + 1), "is damaged (checksum of its beginning)"
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
    """Return where the next whole beginning of a frame is, from `place` on."""
    while (place := blob.find(MARK, place)) >= 0:
        if _is_frame(blob, place):
            return place
        place += 1
    return len(blob)
