"""One execution of a task: its parts, and the reports of an attempt that failed.

The scheduler decides whether a failed task is retried, but receives the exception only if it is
not.  The worker knows the exception, but not the decision.  `Attempts` joins the two reports of
each failed attempt into one `error` row; the report that arrives first waits for the other.
"""

from __future__ import annotations

import hashlib
import pickle
import time
import traceback
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Callable

from .exceptions import bases_of, message_of, qualified
from .logs import cut, cut_within, plain

if TYPE_CHECKING:
    from dask.typing import Key

    # Only describe arguments.
    from distributed import Worker
    from distributed.worker_state_machine import WorkerState


LONGEST_KEY = 1_000
"""Characters of a key; a longer one is cut wherever it is recorded, in the same way."""
_BEGINNING = 600


def short_key(text: str) -> str:
    """Return the key, prefix or group of a task, cut if it is very long.

    Two keys stay two: what is cut is replaced by its number of characters and a digest.
    """
    if len(text) <= LONGEST_KEY:
        return text
    digest = hashlib.sha1(text.encode("utf-8", "replace"), usedforsecurity=False)
    left_out = len(text) - _BEGINNING
    return f"{text[:_BEGINNING]}…{left_out:,} more…{digest.hexdigest()[:16]}"


def split(startstops: Any, received: float | None = None) -> tuple[float | None, ...]:
    """Return start, stop and the seconds of compute, transfer, disk, deserialize.

    Args:
        startstops: Of a task, as its worker sends them.
        received: When the scheduler received them. Workers misjudge its clock, by seconds
            where they or it answer late; nothing ended later than this.
    """
    if not startstops:
        return (None, None, 0.0, 0.0, 0.0, 0.0)
    compute = transfer = disk = deserialize = 0.0
    begin, end = startstops[0]["start"], startstops[0]["stop"]
    if len(startstops) == 1 and startstops[0]["action"] == "compute":  # by far the most
        compute = end - begin
    else:
        for part in startstops:
            start, stop, action = part["start"], part["stop"], part["action"]
            begin, end = min(begin, start), max(end, stop)
            if action == "compute":
                compute += stop - start
            elif action == "transfer":
                transfer += stop - start
            elif action == "deserialize":
                deserialize += stop - start
            else:
                disk += stop - start
    if received is not None and end > received:
        begin, end = begin - (end - received), received
    return (begin, end, compute, transfer, disk, deserialize)


KEY, NAME, MESSAGE, TRACEBACK = 1, 5, 6, 7
"""Places in a report of the task's key, and of the exception's class, message and traceback."""

_LONGEST = 20_000


def report_of(
    worker: Worker, key: Key, *, released: bool
) -> tuple[list[Any], BaseException | None] | None:
    """Return the report of a task's failure, and its exception; None if it is unknown.

    Args:
        worker: The worker that ran it.
        released: The task had been released when it raised.
    """
    ts = worker.state.tasks.get(key)
    raised = _unasked_failure(worker.state, key) if released else ts
    if ts is None or raised is None:
        return None
    error = _loaded(getattr(raised, "exception", None))
    if error is None:
        name, message = "Exception", str(getattr(raised, "exception_text", ""))
        text, bases = str(getattr(raised, "traceback_text", "")), None
    else:
        name, message = qualified(type(error)), message_of(error)
        bases = ", ".join(bases_of(error))
        error = error.with_traceback(_loaded(getattr(raised, "traceback", None)))
        text = _with_frames(error, str(getattr(raised, "traceback_text", "") or ""))
    at = time.time() + float(getattr(worker, "scheduler_delay", 0) or 0)
    outcome = "released" if released else ""  # else the scheduler decides
    row = [
        at, str(key), ts.prefix, str(worker.address), outcome, name,
        plain(cut(message, _LONGEST)), cut_within(plain(text), _LONGEST), None, bases,
        list(split(getattr(ts, "startstops", None))),
    ]  # fmt: skip
    return row, error


def _with_frames(error: BaseException, frames: str) -> str:
    """Return an exception as Python prints it, with the frames of which Dask sent only the text.

    It drops tracebacks of more than 10 kB (`distributed.admin.max-error-length`), such as that
    of endless recursion, which begins with the user's own line.
    """
    text = "".join(traceback.format_exception(error))
    last = "".join(traceback.format_exception_only(error))
    if error.__traceback__ is not None or not frames or not text.endswith(last):
        return text
    before = text.removesuffix(last)
    return f"{before}Traceback (most recent call last):\n{frames}{last}"


def _unasked_failure(state: WorkerState, key: Key) -> object:
    """Return the failure of a task that was released while it ran.

    Dask drops that exception; the worker's newest stimulus still holds it.
    """
    newest = state.stimulus_log[-1] if state.stimulus_log else None
    failed = getattr(newest, "key", None) == key and hasattr(newest, "exception_text")
    return newest if failed else None


def _loaded(wrapped: object) -> Any:
    """Return the exception (or traceback) that this very process pickled, or None."""
    data = getattr(wrapped, "data", None)
    try:
        return pickle.loads(data) if isinstance(data, bytes) else data
    except Exception:
        return None


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
