"""In which thread each task runs, and how much CPU that thread has used for it.

At a worker's end several tasks may be running: the thread ties a task to its stack in
`faulthandler`'s file, and CPU time distinguishes the task that computes from the one that waits.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributed import Worker

_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_USER, _SYSTEM = 11, 12  # fields of /proc/…/stat after the name


class TaskThreads:
    """The threads of a worker's tasks."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._seen: dict[str, _Seen] = {}

    def sample(self, executing: dict[str, float]) -> None:
        """Look at the threads of the tasks that execute (from a thread of our own)."""
        threads = self._seconds_by_key()
        seen = {}
        for key, start in executing.items():
            if key not in threads:
                continue
            thread, used = threads[key]
            before = self._seen.get(key)
            same = before is not None and (before.start, before.thread) == (
                start,
                thread,
            )
            first = before.first if before is not None and same else used
            seen[key] = _Seen(start, thread, first, round(used - first, 3))
        self._seen = seen

    def reported(self, executing: dict[str, float]) -> list[dict[str, object]]:
        """Return what is known of the tasks that execute.

        Args:
            executing: Keys, and since when each executes.

        Returns:
            `key` and `start` of each; `thread` (its identifier) and `cpu` (seconds that it
            has used since the task was first seen in it) where they are known.
        """
        seen, known = self._seen, []
        for key, start in executing.items():
            row: dict[str, object] = {"key": key, "start": start}
            of_key = seen.get(key)
            if of_key is not None and of_key.start == start:
                row |= {"thread": of_key.thread, "cpu": of_key.cpu}
            known.append(row)
        return known

    def _seconds_by_key(self) -> dict[str, tuple[int, float]]:
        """Return thread and CPU seconds of each key that a thread executes."""
        try:
            active = {str(k): t for t, k in self._worker.active_threads.copy().items()}
            system = {each.ident: each.native_id for each in threading.enumerate()}
        except RuntimeError:  # a thread began or ended meanwhile
            return {}
        found = {}
        for key, thread in active.items():
            used = _cpu_of(system.get(thread))
            if used is not None:
                found[key] = (thread, used)
        return found


class _Seen:
    """A task in its thread: `first` and `cpu` are CPU seconds, at first sight and since."""

    def __init__(self, start: float, thread: int, first: float, cpu: float) -> None:
        self.start, self.thread, self.first, self.cpu = start, thread, first, cpu


def _cpu_of(thread: int | None) -> float | None:
    """Return the CPU seconds of one of our threads; None where its system does not say."""
    try:
        with open(f"/proc/self/task/{thread}/stat", encoding="utf-8") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[_USER]) + int(fields[_SYSTEM])) / _TICKS
    except (OSError, IndexError, ValueError):
        return None
