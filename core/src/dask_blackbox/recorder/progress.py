"""How far a run has come, counted while it is recorded: what the heartbeat says."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from threading import Lock

from dask_blackbox.events import (
    COLUMNS,
    GraphUpdated,
    Rows,
    WorkerAdded,
    WorkerRemoved,
    event_rows,
    of_kind,
)
from dask_blackbox.manifest import Progress

__all__ = ["ProgressCounter"]

_WINDOW = 30.0
"""Seconds over which the rate is taken."""

_MOST_KEYS = 100_000
"""Tasks that are known by their keys, to count each once; later ones count by execution."""

_KEY = COLUMNS["task"].index("key")
_OUTCOME = COLUMNS["task"].index("outcome")
_SOURCE = COLUMNS["metric"].index("source")
_MEMORY = COLUMNS["metric"].index("memory")
_EXECUTING = COLUMNS["metric"].index("executing")


class ProgressCounter:
    """Counts tasks and workers as their rows arrive; a handful of numbers, never the rows.

    A task whose result was lost with its worker is executed again, and is still one task.

    Args:
        clock: Returns seconds, by a clock that nobody sets.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()  # the heartbeat is written by another thread
        self._submitted = 0
        self._done = 0
        self._keys: set[int] = set()
        self._failed = 0
        self._deaths = 0
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
        for _, kind, subject, detail in event_rows(rows):
            self._add_event(kind, subject or "", detail)
        for row in rows.get("metric", ()):
            if (source := str(row[_SOURCE])) in self._limits:
                self._memory[source] = _whole(row[_MEMORY])
                self._executing[source] = _whole(row[_EXECUTING])
        if tasks := rows.get("task", ()):
            self._add_tasks(tasks)

    def _add_tasks(self, tasks: Sequence[Sequence[object]]) -> None:
        finished = [row for row in tasks if row[_OUTCOME] == "finished"]
        self._done += sum(self._is_first(hash(row[_KEY])) for row in finished)
        self._failed += sum(row[_OUTCOME] in {"erred", "killed"} for row in tasks)
        if finished:
            now = self._clock()
            self._first = now if self._first is None else self._first
            self._recent.append((now, len(finished)))

    def _is_first(self, key: int) -> bool:
        if key in self._keys:
            return False
        if len(self._keys) < _MOST_KEYS:
            self._keys.add(key)
        return True

    def _add_event(self, kind: str, subject: str, detail: str) -> None:
        if kind == "worker-added":
            added = of_kind(WorkerAdded, 0.0, subject, detail)
            self._limits[subject] = added.memory_limit or 0
            self._threads[subject] = added.nthreads or 0
        elif kind == "worker-removed":
            removed = of_kind(WorkerRemoved, 0.0, subject, detail)
            self._deaths += removed.expected is False
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
        return Progress(
            submitted=self._submitted,
            done=self._done,
            failed=self._failed,
            rate=recent / min(max(now - since, 1.0), _WINDOW),
            workers=len(self._limits),
            threads=sum(self._threads.values()),
            executing=sum(self._executing.values()),
            lost_workers=self._deaths,
            memory=sum(self._memory.values()),
            memory_limit=sum(limits) if all(limits) else 0,
        )


def _whole(number: object) -> int:
    return int(number) if isinstance(number, int | float) else 0
