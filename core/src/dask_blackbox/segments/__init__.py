"""The format of recordings: framed, checksummed, compressed, versioned; writer and reader.

This package does not know where bytes go or come from.  docs/format.md describes the bytes.
"""

from __future__ import annotations

from dask_blackbox.segments.allowance import Allowance, OverAllowanceError
from dask_blackbox.segments.batch import MOST_ROWS, Batch
from dask_blackbox.segments.columns import Column
from dask_blackbox.segments.format import (
    Segment,
    SegmentWriter,
    frame,
    open_segment,
    read_segment,
)

__all__ = [
    "MOST_ROWS",
    "Allowance",
    "Batch",
    "Column",
    "OverAllowanceError",
    "Segment",
    "SegmentWriter",
    "frame",
    "open_segment",
    "read_segment",
]
