"""The progress of a run, for heartbeats and for drivers whose hosts show it."""

from __future__ import annotations

import contextlib
import logging
import time
from array import array
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock

import msgspec

from dask_blackbox.decoding import checked
from dask_blackbox.end_orders import SOURCES, EndOrders
from dask_blackbox.errors import MalformedRecordingError
from dask_blackbox.events import (
    COLUMNS,
    GraphUpdated,
    Rows,
    Stall,
    StallOver,
    WorkerAdded,
    WorkerExitReport,
    WorkerRemoved,
    decoded,
    event_rows,
    log_rows,
    of_kind,
)
from dask_blackbox.formatting import process_name
from dask_blackbox.manifest import Progress
from dask_blackbox.protocol import messages

_WINDOW = 30.0
"""Seconds over which the rate is taken."""

_MOST_KEYS = 100_000
"""Tasks that are known by their keys, to count each once; later ones count by execution."""

_SLOT_BITS = 18
_SLOTS = 1 << _SLOT_BITS
"""Of the table of these keys, so that two in five are taken at most."""

_SETTLED = 10.0
"""Seconds after which every worker of an earlier recorder has been learned of, or is gone."""

_ORDERING = {each.kind: each for each in SOURCES}
_CLOCKS = 1.0
"""Seconds by which the clocks of driver and scheduler may differ."""

_FILE = "progress.json"

_KEY = COLUMNS["task"].index("key")
_OUTCOME = COLUMNS["task"].index("outcome")
_SOURCE = COLUMNS["metric"].index("source")
_MEMORY = COLUMNS["metric"].index("memory")
_EXECUTING = COLUMNS["metric"].index("executing")


class KeptProgress(msgspec.Struct, kw_only=True, frozen=True):
    """What a recorder had counted when it was killed.

    Attributes:
        progress: As counted.
        batches: The last batch of each scheduler that is in it, by source; a batch that the
            scheduler does not know to be safe is sent again.
    """

    progress: Progress = Progress()
    batches: dict[str, int] = {}


_decode_kept = checked(msgspec.json.Decoder(KeptProgress).decode)


class _Keys:
    """The keys that were counted: a table of 1 MB, where a set of Python's would have 8."""

    def __init__(self) -> None:
        self._table = array("I", bytes(4 * _SLOTS))
        self._number = 0

    def is_first(self, key: int) -> bool:
        """Return whether a hash is seen for the first time, and remember it."""
        # Two keys are taken for one if their slots and 32 more bits are the same.
        mark, slot, table = (
            (key >> _SLOT_BITS) & 0xFFFFFFFF or 1,
            key % _SLOTS,
            self._table,
        )
        while table[slot]:
            if table[slot] == mark:
                return False
            slot = (slot + 1) % _SLOTS
        if self._number < _MOST_KEYS:
            table[slot] = mark
            self._number += 1
        return True


class ProgressCounter:
    """Counts tasks and workers as their rows arrive; a handful of numbers, never the rows.

    A task whose result was lost with its worker is executed again, and is still one task.

    A recorder that takes over continues from where the one before was.  Workers that this one
    knew are a number, until their metrics come and name them.

    Args:
        clock: Returns seconds, by a monotonic clock.
        before: What the recorder before this one had counted.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        *,
        before: Progress | None = None,
    ) -> None:
        self._clock = clock
        self._lock = Lock()  # the heartbeat is written by another thread
        self._before = before = before or Progress()
        self._unnamed = before.workers
        self._named_since: float | None = None
        self._gone: set[str] = set()  # while there are unnamed ones
        self._submitted = before.submitted
        self._done = before.done
        self._keys = _Keys()
        self._failed = before.failed
        self._deaths = before.lost_workers
        self._orders = EndOrders()
        self._names: dict[str, tuple[str, str | None, float]] = {}
        self._limits: dict[str, int] = {}
        self._threads: dict[str, int] = {}
        self._memory: dict[str, int] = {}
        self._executing: dict[str, int] = {}
        self._recent: deque[tuple[float, int]] = deque()
        self._first: float | None = None

    def add(self, rows: Rows) -> None:
        """Count a batch of rows."""
        with self._lock:
            self._add(rows)

    def _add(self, rows: Rows) -> None:
        for at, kind, subject, detail in event_rows(rows):
            if kind in _ORDERING:
                self._orders.add(of_kind(_ORDERING[kind], at, subject or "", detail))
            self._add_event(at, kind, subject or "", detail)
        for row in rows.get("metric", ()):
            source = str(row[_SOURCE])
            if self._unnamed:
                self._name(source)
            if source in self._limits:
                self._memory[source] = _whole(row[_MEMORY])
                self._executing[source] = _whole(row[_EXECUTING])
        if tasks := rows.get("task", ()):
            self._add_tasks(tasks)

    def _name(self, source: str) -> None:
        """Count a worker of the recorder before by its address from now on."""
        if source in self._limits or source in self._gone or "://" not in source:
            return
        if self._named_since is None:
            self._named_since = self._clock()
        self._unnamed -= 1
        self._limits[source] = self._of_one(self._before.memory_limit)
        self._threads[source] = self._of_one(self._before.threads)

    def _of_one(self, total: int) -> int:
        return total // max(self._before.workers, 1)

    def _unnamed_now(self) -> int:
        since = self._named_since
        if since is not None and self._clock() > since + _SETTLED:
            self._unnamed = 0
            self._gone.clear()
        return self._unnamed

    def _add_tasks(self, tasks: Sequence[Sequence[object]]) -> None:
        finished = [row for row in tasks if row[_OUTCOME] == "finished"]
        self._done += sum(self._keys.is_first(hash(row[_KEY])) for row in finished)
        self._failed += sum(row[_OUTCOME] in {"erred", "killed"} for row in tasks)
        if finished:
            now = self._clock()
            self._first = now if self._first is None else self._first
            self._recent.append((now, len(finished)))

    def _add_event(self, at: float, kind: str, subject: str, detail: str) -> None:
        if kind == "worker-added":
            added = of_kind(WorkerAdded, at, subject, detail)
            self._names[subject] = (added.scheduler or "", added.name, at)
            self._limits[subject] = added.memory_limit or 0
            self._threads[subject] = added.nthreads or 0
        elif kind == "worker-removed":
            removed = of_kind(WorkerRemoved, at, subject, detail)
            scheduler, name, joined = self._names.pop(subject, ("", None, 0.0))
            order = self._orders.order_for(
                scheduler, name, at, address=subject, joined=joined, clocks=_CLOCKS
            )
            self._deaths += removed.expected is False and order is None
            if self._unnamed and subject not in self._gone:
                self._gone.add(subject)
                self._unnamed -= subject not in self._limits
            for known in (self._limits, self._threads, self._memory, self._executing):
                known.pop(subject, None)
        elif kind == "graph-updated":
            graph = of_kind(GraphUpdated, 0.0, subject, detail)
            self._submitted += sum(each.tasks for each in graph.new.values())

    def progress(self) -> Progress:
        """Return the numbers as they are."""
        with self._lock:
            return self._progress()

    def _progress(self) -> Progress:
        now = self._clock()
        while self._recent and self._recent[0][0] < now - _WINDOW:
            self._recent.popleft()
        recent = sum(tasks for _, tasks in self._recent)
        since = now if self._first is None else self._first
        limits = self._limits.values()
        unnamed = self._unnamed_now()
        limited = all(limits) and (self._before.memory_limit or not unnamed)
        return Progress(
            submitted=self._submitted,
            done=self._done,
            failed=self._failed,
            rate=recent / min(max(now - since, 1.0), _WINDOW),
            workers=len(self._limits) + unnamed,
            threads=sum(self._threads.values())
            + unnamed * self._of_one(self._before.threads),
            executing=sum(self._executing.values()),
            lost_workers=self._deaths,
            memory=sum(self._memory.values())
            + unnamed * self._of_one(self._before.memory),
            memory_limit=sum(limits) + unnamed * self._of_one(self._before.memory_limit)
            if limited
            else 0,
        )


def _whole(number: object) -> int:
    return int(number) if isinstance(number, int | float) else 0


def keep_progress(folder: Path, kept: KeptProgress) -> None:
    """Write the progress of a run to the spool, for a recorder that takes over."""
    new = folder / f"{_FILE}.new"
    with contextlib.suppress(OSError):
        new.write_bytes(msgspec.json.encode(kept))
        new.replace(folder / _FILE)


def kept_progress(folder: Path) -> KeptProgress:
    """Return the counts of the previous recorder; empty if there was none."""
    with contextlib.suppress(OSError, MalformedRecordingError):
        return _decode_kept((folder / _FILE).read_bytes())
    return KeptProgress()


_ROLES = ("scheduler", "nanny")
_MOST, _AT_ONCE = 200, 20
_LONGEST = 2_000
_SHOWN = {each.kind for each in (Stall, StallOver, WorkerExitReport)}


class DriverUpdates:
    """Gathers what happens between two reports.

    Args:
        counter: Counts the tasks and workers of the same rows.
    """

    def __init__(self, counter: ProgressCounter) -> None:
        self._counter = counter
        self._stall: Stall | None = None
        self._lines: list[messages.LogLine] = []
        self._reported = 0

    def add_rows(self, rows: Rows) -> None:
        """Count the rows of a batch, which are redacted."""
        for at, kind, subject, detail in event_rows(rows):
            self._event(at, kind, subject, detail)
        for at, role, source, _, _, logger, level, message, key in log_rows(rows):
            if role not in _ROLES or level is None or level < logging.WARNING:
                continue
            if logger.startswith("distributed"):
                keys = (key,) if key else ()
                self._line(at, level, process_name(role, source), message, keys)

    def report(self) -> messages.Progress:
        """Return what has happened, and forget the lines that are in it."""
        counted = self._counter.progress()
        lines, self._lines = tuple(self._lines[:_AT_ONCE]), self._lines[_AT_ONCE:]
        return messages.Progress(
            at=time.time(),
            submitted=counted.submitted,
            finished=counted.done,
            failed=counted.failed,
            rate=counted.rate,
            workers=counted.workers,
            memory=counted.memory,
            memory_limit=counted.memory_limit,
            stall=self._stall,
            lines=lines,
        )

    def _event(self, at: float, kind: str, subject: str, detail: str) -> None:
        if kind not in _SHOWN:
            return
        match decoded(at, kind, subject, detail):
            case Stall() as stall:
                self._stall = stall
            case StallOver():
                self._stall = None
            case WorkerExitReport() as report:
                self._worker_exit(report)

    def _worker_exit(self, report: WorkerExitReport) -> None:
        if report.asked_to_close or report.exit_code == 0:
            return
        if report.signal is None and report.exit_code is None:
            return  # it is still ending, as after a script that closed nothing
        keys = tuple(each.key for each in report.executing if each.key)
        how = report.signal or f"exit code {report.exit_code}"
        text = f"The worker died: {how}."
        if keys:
            text += f" It was executing {', '.join(keys)}."
        if report.stack:
            text += f"\n{_stack_of_task(report.stack)}"
        source = f"worker {report.subject}"
        self._line(report.at, logging.ERROR, source, text, keys, died=True)

    def _line(
        self,
        at: float,
        level: int,
        source: str,
        text: str,
        keys: tuple[str, ...],
        *,
        died: bool = False,
    ) -> None:
        if self._reported >= _MOST:
            return
        self._reported += 1
        cut = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
        self._lines.append(
            messages.LogLine(
                at=at, level=level, source=source, text=cut, keys=keys, died=died
            )
        )


def _stack_of_task(stack: str) -> str:
    """Return where the task was; the thread of the signal, if none is known to run one."""
    from dask_blackbox.analyse.frames import stack_of_signal, task_stacks

    found = next(iter(task_stacks(stack)), None)
    if found is None:
        return stack_of_signal(stack)
    return "\n".join(
        ["Its stack (most recent call first):"]
        + [f'  File "{e.file}", line {e.line}, in {e.function}' for e in found.frames]
    )
