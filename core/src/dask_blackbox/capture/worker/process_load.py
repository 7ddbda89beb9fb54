"""The load of a worker's process beside its tasks, and the CPU time of each task's thread.

Sampled by the thread that samples memory, which wakes ten times a second while tasks run: how
late it wakes shows how long a thread waits for the GIL.

When a worker dies, several tasks may be running.  The thread id connects a task to its stack in
`faulthandler`'s file; its CPU time shows whether the task computed or waited.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from ..memory_limits import memory_limits
from ..process import host_cpu, host_swap, stat_fields

if TYPE_CHECKING:
    from distributed import Worker

_EVERY = 10.0
_OFTEN = 0.1  # seconds: a longer sleep counts as several of these
_PAGE_SIZE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
# The interpreter's switch interval is 5 ms: who waits for longer than this waits for it.
_LATE = 0.004
_NATIVE = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class ProcessLoad:
    """Counts the load, and reports it every ten seconds."""

    def __init__(self) -> None:
        self._since = time.perf_counter()
        self._wakeups = self._late_wakeups = self._peak = 0
        self._late_seconds = 0.0
        self._before = self._counters()

    def woke(self, asleep: float, wanted: float) -> None:
        """Count one wake-up: after how many seconds, and after how many it was planned."""
        late = asleep - wanted
        self._wakeups += max(1, round(wanted / _OFTEN))
        self._late_wakeups += late >= _LATE
        self._late_seconds += max(0.0, late)

    def memory(self, rss: int) -> None:
        """Remember the most memory that the process had."""
        self._peak = max(self._peak, rss)

    def due(self) -> bool:
        """Return whether it is time for a report."""
        return time.perf_counter() - self._since >= _EVERY

    def fields(self) -> dict[str, object]:
        """Return the fields of a `process-load` event, and reset the counters."""
        now, counters = time.perf_counter(), self._counters()
        fields: dict[str, object] = {"seconds": round(now - self._since, 3)}
        for name, value in counters.items():
            before = self._before.get(name)
            if before is not None:
                fields[name] = round(value - before, 3)
        fields |= {"wakeups": self._wakeups, "late_wakeups": self._late_wakeups}
        fields |= {
            "late_seconds": round(self._late_seconds, 3),
            "peak_memory": self._peak,
            **_host(),
        }
        self._since, self._before = now, counters
        self._wakeups = self._late_wakeups = self._peak = 0
        self._late_seconds = 0.0
        return fields

    @staticmethod
    def _counters() -> dict[str, float]:
        cpu = {"cpu": time.process_time(), "children": _children()}
        return {**cpu, **_collected(), **host_cpu(), **host_swap()}


def _children() -> float:
    """Return the CPU seconds of programs that were started here, and have ended."""
    return os.times().children_user + os.times().children_system


def _collected() -> dict[str, float]:
    """Return the seconds of full garbage collections, as Dask counts them anyway."""
    for module in ("distributed.gc", "distributed.utils_perf"):  # new and old name
        diagnosis = getattr(sys.modules.get(module), "_gc_diagnosis", None)
        timer = getattr(diagnosis, "_fractional_timer", None)
        if timer is not None:
            return {"gc": float(timer.duration_total)}
    return {}


def _host() -> dict[str, Any]:
    fields = {"cores": _cores(), "native_threads": _native_threads()}
    try:
        from distributed.system import MEMORY_LIMIT
    except ImportError:
        return fields
    return {**fields, "host_memory": host_memory(int(MEMORY_LIMIT))}


def host_memory(limit: int) -> int:
    """Return the bytes of the host, or of its container.

    Args:
        limit: What Dask takes for that.  It may be a limit of this process alone (`ulimit -m`,
            which job queues set), of which each worker has its own.
    """
    if sys.platform == "win32":  # it has no such limits
        return limit
    import resource

    if limit != resource.getrlimit(resource.RLIMIT_RSS)[1]:
        return limit
    limits = memory_limits()
    return limits.get("cgroup", limits["host"])


def _native_threads() -> int | None:
    """Return how many threads libraries may start for a task, where that is set."""
    values = [os.environ.get(name, "") for name in _NATIVE]
    numbers = [int(each) for each in values if each.isdigit()]
    return max(numbers, default=None)


def _cores() -> int:
    try:
        from dask.system import CPU_COUNT

        return int(CPU_COUNT)
    except Exception:
        return os.cpu_count() or 1


class ProcessMemory:
    """The memory of this process according to its system, read ten times a second."""

    def __init__(self) -> None:
        self._file: int | None = None
        try:
            self._file = os.open("/proc/self/statm", os.O_RDONLY)
        except OSError:  # a system without, or a process without another file
            pass

    def now(self) -> int:
        """Return bytes; 0 if the system does not report them."""
        if self._file is None:
            return 0
        try:
            return int(os.pread(self._file, 128, 0).split()[1]) * _PAGE_SIZE
        except (OSError, ValueError, IndexError):
            return 0

    def close(self) -> None:
        """Close the file."""
        file, self._file = self._file, None
        if file is not None:
            os.close(file)


_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_USER, _SYSTEM = 11, 12  # fields of /proc/…/stat after the name


class TaskThreads:
    """The threads of a worker's tasks."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._seen: dict[str, _Seen] = {}

    def sample(self, executing: dict[str, float]) -> None:
        """Sample the threads of executing tasks (called in a thread of our own)."""
        threads = self._seconds_by_key()
        seen = {}
        for key, start in executing.items():
            if key not in threads:
                continue
            thread, native, used = threads[key]
            before = self._seen.get(key)
            same = before is not None and (before.start, before.thread) == (
                start,
                thread,
            )
            first = before.first if before is not None and same else used
            seen[key] = _Seen(start, thread, native, first, round(used - first, 3))
        self._seen = seen

    def tasks(self, executing: dict[str, float]) -> list[dict[str, object]]:
        """Return the facts of the tasks that execute.

        Args:
            executing: Keys, and since when each executes.

        Returns:
            `key` and `start` of each; `thread` (its identifier), `native` (the system's) and
            `cpu` (seconds that it has used since the task was first seen in it) where they are
            known.
        """
        seen, known = self._seen, []
        for key, start in executing.items():
            row: dict[str, object] = {"key": key, "start": start}
            of_key = seen.get(key)
            if of_key is not None and of_key.start == start:
                row |= {
                    "thread": of_key.thread,
                    "native": of_key.native,
                    "cpu": of_key.cpu,
                }
            known.append(row)
        return known

    def _seconds_by_key(self) -> dict[str, tuple[int, int, float]]:
        """Return thread, its native id and CPU seconds of each key that a thread executes."""
        try:
            active = {str(k): t for t, k in self._worker.active_threads.copy().items()}
            system = {each.ident: each.native_id for each in threading.enumerate()}
        except RuntimeError:  # a thread began or ended meanwhile
            return {}
        found = {}
        for key, thread in active.items():
            native = system.get(thread)
            used = _cpu_of(native)
            if native is not None and used is not None:
                found[key] = (thread, native, used)
        return found


class _Seen:
    """A task in its thread: `first` and `cpu` are CPU seconds, at first sight and since."""

    def __init__(
        self, start: float, thread: int, native: int, first: float, cpu: float
    ) -> None:
        self.start, self.thread, self.native = start, thread, native
        self.first, self.cpu = first, cpu


def _cpu_of(thread: int | None) -> float | None:
    """Return the CPU seconds of one of our threads; None if the system does not report them."""
    fields = stat_fields(f"self/task/{thread}")
    return (int(fields[_USER]) + int(fields[_SYSTEM])) / _TICKS if fields else None
