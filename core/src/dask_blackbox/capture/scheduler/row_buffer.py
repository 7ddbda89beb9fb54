"""The scheduler's buffer: rows by kind, bounded, kept until the recorder has them."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import Any

import msgpack

from ..overload import extended

_FIRST_PULL, _NEXT_PULL = 15.0, 3.0  # seconds that a recorder may take to come by
_LONGEST = 5.0  # seconds that the end of a scheduler waits
_ONE = 320  # bytes of an execution's row, about
_LINES = "log"
_NOT_LINES, _IMPORTANT = 8, 16  # one part in so many of the space


class RowBuffer:
    """Rows that wait to be pulled.

    A batch is kept until the next pull acknowledges it, so that a recorder that died
    half-way loses nothing.  When the buffer is full, new rows are counted, not kept; a flood
    of lines leaves space to all else, and executions leave some to errors and events.

    Args:
        limit: How many executions fit.  Rows with long texts weigh as much as several,
            so that the memory is bounded too.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        # Executions come on the event loop only, and all weigh the same; whoever logs, in
        # whichever thread, puts the others.
        self._executions: deque[object] = deque()
        self._others: deque[tuple[str, object, int]] = deque()
        self._lines: deque[tuple[str, object, int]] = deque()
        self._for_others = limit // _IMPORTANT
        self._not_for_lines = limit // _NOT_LINES - self._for_others
        self._space = limit - self._for_others  # that others leave to executions
        self._unacknowledged: dict[str, Any] | None = None
        self._seq = 0
        self.dropped: dict[str, int] = {}
        self.pulled_at = 0.0
        self.puller_waits = False  # for an answer that takes longer than a pull

    def __len__(self) -> int:
        return len(self._executions) + len(self._others) + len(self._lines)

    @property
    def drained(self) -> bool:
        """Whether all rows have been acknowledged."""
        return not len(self) and self._unacknowledged is None

    async def drain(self, since: float) -> None:
        """Wait until all rows are acknowledged, as long as a recorder may still pull them.

        Args:
            since: When a recorder could first pull, on the monotonic clock: that
                takes longer.
        """
        begun = time.monotonic()
        while not self.drained:
            now = time.monotonic()
            if self.pulled_at:
                unreachable = now - self.pulled_at > extended(_NEXT_PULL)
            else:
                unreachable = now - since > _FIRST_PULL
            if (unreachable and not self.puller_waits) or now - begun > _LONGEST:
                return
            await asyncio.sleep(0.02)

    def put(self, kind: str, row: Any) -> None:
        """Keep a row, or count it if it does not fit."""
        if kind == "task":
            self.put_task(row)
            return
        lines = kind == _LINES
        spare = -self._not_for_lines if lines else self._for_others
        if len(self._executions) >= self._space + spare:
            self.drop(kind, 1)
            return
        weight = _weight(row)
        self._space -= weight
        (self._lines if lines else self._others).append((kind, row, weight))

    def put_task(self, row: object) -> None:
        """Keep the row of an execution, or count it: by far the most rows are such."""
        if len(self._executions) >= self._space:
            self.drop("task", 1)
        else:
            self._executions.append(row)

    def drop(self, kind: str, count: int) -> None:
        """Count rows that were dropped before they reached this buffer."""
        self.dropped[kind] = self.dropped.get(kind, 0) + count

    def pull(self, acknowledged: int, limit: int, now: float) -> dict[str, Any]:
        """Return the next batch; the same one again until it is acknowledged.

        Args:
            acknowledged: Sequence number of the last batch that is safe with the puller.
            limit: How much at most, in rows of executions.
            now: Epoch seconds.
        """
        self.pulled_at = time.monotonic()
        kept = self._unacknowledged
        if kept is not None and kept["seq"] > acknowledged:
            return kept
        self._unacknowledged = None
        if not len(self):
            return self._answer(acknowledged, None, now)
        rows: dict[str, list[object]] = {}
        # The most important comes first, should there be more than a batch; of the rest, a
        # flood of lines takes half at most while there are executions.
        limit -= self._take(self._others, limit, rows)
        least = limit // 2 if self._executions else limit
        limit -= self._take(
            self._lines, max(least, limit - len(self._executions)), rows
        )
        count = min(limit, len(self._executions))
        if count > 0:
            take = self._executions.popleft
            rows["task"] = [take() for _ in range(count)]
        self._seq += 1
        self._unacknowledged = self._answer(self._seq, _packed(rows), now)
        return self._unacknowledged

    def _take(
        self,
        waiting: deque[tuple[str, object, int]],
        limit: int,
        rows: dict[str, list[object]],
    ) -> int:
        """Move rows into a batch, up to a weight; return what they weigh."""
        taken = 0
        while waiting and taken < limit:
            kind, row, weight = waiting.popleft()
            rows.setdefault(kind, []).append(row)
            taken += weight
        self._space += taken
        return taken

    def _answer(self, seq: int, rows: bytes | None, now: float) -> dict[str, object]:
        return {
            "seq": seq,
            "rows": rows,
            "at": now,
            "waiting": len(self),
            "dropped": dict(self.dropped),
        }


def _weight(row: Any) -> int:
    return 1 + sum(len(cell) for cell in row if isinstance(cell, str)) // _ONE


def _packed(rows: dict[str, list[object]]) -> bytes:
    try:
        packed: bytes = msgpack.packb(rows, default=str)
    except UnicodeEncodeError:
        # Half a surrogate pair, in a key or a log line.  Being ready for it in all cases
        # would double the time on the scheduler's event loop.
        packed = msgpack.packb(rows, default=str, unicode_errors="replace")
    return packed
