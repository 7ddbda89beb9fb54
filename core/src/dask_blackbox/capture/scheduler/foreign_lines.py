"""Which lines are another client's: several runs may share the workers of one scheduler.

A recording holds what its own tasks logged and printed, and what the cluster says; the
rest is nobody's business.  Lines are numbered by the process that they come from, so the
numbers of those that are left out are kept: a gap is a loss only where it is none of them.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

from .ownership import Ownership

if TYPE_CHECKING:
    from distributed import Scheduler

_AT, _ROLE, _SOURCE, _PID, _SEQ, _LOGGER, _LEVEL, _TEXT, _KEY = range(9)
_CLUSTERS = ("distributed", "tornado", "asyncio", "bokeh", "dask")
_FAILED = re.compile(r"Compute Failed\nKey: +(.*)\n")  # quotes the task's arguments
_LATE = (
    1.0  # seconds after a task in which a thread that it has started may still print
)


class ForeignLines:
    """Tells the lines of other clients' tasks from our own and from the cluster's."""

    def __init__(self, scheduler: Scheduler, own: Ownership) -> None:
        self._scheduler, self._own = scheduler, own
        self._ended: dict[str, float] = {}
        self._numbers: dict[tuple[str, int], list[list[int]]] = {}

    def task_ended(self, worker: str | None) -> None:
        """Note that a task of another client has ended on a worker."""
        if worker is not None:
            self._ended[worker] = time.time()

    def excludes(self, row: Any) -> bool:
        """Return whether a line is another's; if so, its number is noted."""
        if self._own.everything or self._is_ours(row):
            return False
        numbers = self._numbers.setdefault((row[_SOURCE], row[_PID]), [])
        if numbers and numbers[-1][1] + 1 == row[_SEQ]:
            numbers[-1][1] = row[_SEQ]
        else:
            numbers.append([row[_SEQ], row[_SEQ]])
        return True

    def _is_ours(self, row: Any) -> bool:
        if row[_KEY] is not None:
            return self._own.has_named(row[_KEY])
        if row[_LOGGER].partition(".")[0] in _CLUSTERS:
            failed = _FAILED.match(row[_TEXT])
            return failed is None or self._own.has_named(failed[1])
        # Of a thread that nobody can put down to a task: whose tasks run there?
        return row[_ROLE] != "worker" or not self._others_work_at(row)

    def _others_work_at(self, row: Any) -> bool:
        if row[_AT] - _LATE < self._ended.get(row[_SOURCE], 0.0):
            return True
        ws = self._scheduler.workers.get(row[_SOURCE])
        return ws is not None and not all(map(self._own.has, ws.processing))

    def numbers(self) -> list[tuple[str, dict[str, object]]]:
        """Return what was left out since this was last asked: sources, and the numbers."""
        noted, self._numbers = self._numbers, {}
        return [
            (source, {"pid": pid, "numbers": numbers})
            for (source, pid), numbers in noted.items()
        ]
