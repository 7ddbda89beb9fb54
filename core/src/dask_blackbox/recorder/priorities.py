"""Which rows go first where not all of them fit.

A verdict needs what failed, who died and what happened; executions of tasks and warnings
help to explain it; what was printed, samples and totals are what there is most of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dask_blackbox.events import Rows
from dask_blackbox.segments import frame, open_segment, read_segment

__all__ = ["EVERYTHING", "LAST", "kept_of", "thinned"]

EVERYTHING, _EXPLAINING, LAST = 0, 1, 2
"""The least rank that is kept: all rows; without prints and samples; only what tells most."""

_BY_KIND = {"error": LAST, "event": LAST, "task": _EXPLAINING, "log": EVERYTHING}
_KIND, _LEVEL, _WARNING = 1, 6, 30  # places in the rows of events and log lines
_TOTALS = ("fine-metrics", "process-load", "profile", "scheduler-load")


def _rank_of(kind: str, row: Sequence[object]) -> int:
    if kind == "event" and row[_KIND] in _TOTALS:
        return EVERYTHING
    if kind == "log":
        level = row[_LEVEL]
        return (
            _EXPLAINING if isinstance(level, int) and level >= _WARNING else EVERYTHING
        )
    return _BY_KIND.get(kind, EVERYTHING)


def kept_of(rows: Rows, least: int) -> tuple[Rows, Counter[str]]:
    """Return the rows of a rank and above, and how many of each kind are not.

    Args:
        rows: By kind.
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
        blob: The segment.
        recording: Id of the recording.
        number: Of the segment.
        least: The least rank that is kept.

    Raises:
        MalformedRecordingError: if it cannot be read.
    """
    parts, lost = [open_segment(recording, number)], Counter[str]()
    for batch in read_segment(blob).frames:
        kept, dropped = kept_of(batch.rows, least)
        lost += dropped
        if kept:
            parts.append(frame(batch.source, batch.seq, batch.at, kept, batch.dropped))
    return b"".join(parts), lost
