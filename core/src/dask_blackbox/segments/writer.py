"""The writer: a segment in memory, or frame by frame into a file that may end anywhere."""

from __future__ import annotations

from collections.abc import Mapping

from dask_blackbox.events import Rows
from dask_blackbox.segments.batch import encode_batch
from dask_blackbox.segments.format import ZLIB_MSGPACK, frame_bytes, header_bytes


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
