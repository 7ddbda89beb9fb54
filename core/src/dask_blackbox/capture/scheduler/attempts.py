"""Joins the two reports of each failed attempt of a task into one `error` row.

The scheduler decides whether a failed task is retried, but receives the exception only if it is
not.  The worker knows the exception, but not the decision.  The report that arrives first waits
here for the other.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Any, Callable

_WAITING = 1_000
_OUTCOME = 4  # its place in an `error` row


class Attempts:
    """Joins the workers' reports with the scheduler's decisions, in the order of both.

    Args:
        emit: Takes an `error` row, and the parts of the execution if a worker reported them.
    """

    def __init__(
        self, emit: Callable[[list[object], list[object] | None], None]
    ) -> None:
        self._emit = emit
        self._waiting: OrderedDict[str, _Attempt] = OrderedDict()
        self._seen: OrderedDict[tuple[float, str], None] = OrderedDict()

    def decided(self, key: str, outcome: str, row: list[object] | None = None) -> None:
        """Note the outcome of a task that failed, or that may still fail.

        Args:
            outcome: `erred`: it is final; `retried`: it is retried; `released`: its result is no
                longer needed, and its worker may still run it.
            row: The scheduler's own row, without a worker's report.
        """
        self._of(key).decisions.append((outcome, row))
        self._join(key)

    def reported(self, report: list[Any]) -> None:
        """Note a worker's report of an exception, with its full traceback.

        Args:
            report: An `error` row, and as its last field the execution's parts.
        """
        at, key = report[0], report[1]
        if (
            at,
            key,
        ) in self._seen:  # sent, and also found in the ring of a dead worker
            return
        self._seen[at, key] = None
        if len(self._seen) > _WAITING:
            self._seen.popitem(last=False)
        self._of(key).reports.append(report)
        self._join(key)

    def settle(self, before: float) -> None:
        """Use the report of one side if that of the other has not arrived since `before`."""
        while self._waiting:
            key, waiting = next(iter(self._waiting.items()))
            if waiting.since > before:
                return
            del self._waiting[key]
            self._emit_pairs(waiting)

    def _of(self, key: str) -> _Attempt:
        if key not in self._waiting:
            self._waiting[key] = _Attempt(time.time())
        if len(self._waiting) > _WAITING:
            self._emit_pairs(self._waiting.popitem(last=False)[1])
        return self._waiting[key]

    def _join(self, key: str) -> None:
        # Reports of different workers may overtake each other: join when all are here.
        waiting = self._waiting[key]
        if len(waiting.reports) == len(waiting.decisions):
            del self._waiting[key]
            self._emit_pairs(waiting)

    def _emit_pairs(self, waiting: _Attempt) -> None:
        reports = sorted(waiting.reports, key=lambda report: report[0])
        for i, (outcome, row) in enumerate(waiting.decisions):
            if i < len(reports):
                self._emit(*_with(outcome, reports[i]))
            elif row is not None:
                self._emit(row, None)
        for report in reports[len(waiting.decisions) :]:
            # The worker may have died before the scheduler knew of the failure; or the report
            # says that the task had been released.
            self._emit(*_with(report[_OUTCOME] or "retried", report))


def _with(outcome: str, report: list[Any]) -> tuple[list[object], list[object]]:
    return [*report[:4], outcome, *report[5:-1]], report[-1]


class _Attempt:
    def __init__(self, since: float) -> None:
        self.since = since
        self.decisions: list[tuple[str, list[object] | None]] = []
        self.reports: list[list[Any]] = []
