"""What a worker's process pays beside its tasks: the GIL, the garbage collector, its host.

Asked by the thread that samples memory, which wakes ten times a second anyway while
something runs: how late it wakes shows how long a thread waits for the GIL.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

_EVERY = 10.0
_OFTEN = 0.1  # seconds: a longer sleep counts as several of these
_PAGE_SIZE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
# The interpreter's switch interval is 5 ms: who waits for longer than this waits for it.
_LATE = 0.004
_NATIVE = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class ProcessLoad:
    """Counts what there is to pay, and says it now and then."""

    def __init__(self) -> None:
        self._since = time.perf_counter()
        self._woken = self._late = self._peak = 0
        self._waited = 0.0
        self._before = self._counters()

    def woke(self, asleep: float, wanted: float) -> None:
        """Count one waking: after how many seconds, and after how many it was to be."""
        late = asleep - wanted
        self._woken += max(1, round(wanted / _OFTEN))
        self._late += late >= _LATE
        self._waited += max(0.0, late)

    def memory(self, rss: int) -> None:
        """Remember the most memory that the process had."""
        self._peak = max(self._peak, rss)

    def due(self) -> bool:
        """Say whether it is time to tell."""
        return time.perf_counter() - self._since >= _EVERY

    def reported(self) -> dict[str, object]:
        """Return the particulars of a `process-load` event, and begin anew."""
        now, counters = time.perf_counter(), self._counters()
        reported: dict[str, object] = {"seconds": round(now - self._since, 3)}
        for name, value in counters.items():
            before = self._before.get(name)
            if before is not None:
                reported[name] = round(value - before, 3)
        reported |= {"woken": self._woken, "late": self._late}
        reported |= {
            "waited": round(self._waited, 3),
            "peak_memory": self._peak,
            **_host(),
        }
        self._since, self._before = now, counters
        self._woken = self._late = self._peak = 0
        self._waited = 0.0
        return reported

    @staticmethod
    def _counters() -> dict[str, float]:
        cpu = {"cpu": time.process_time(), "children": _children()}
        return {**cpu, **_collected(), **_host_cpu()}


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


def _host_cpu() -> dict[str, float]:
    """Return the core-seconds that the host has worked, and that were stolen from it."""
    try:
        with open("/proc/stat", encoding="ascii") as file:
            ticks = [int(each) for each in file.readline().split()[1:9]]
        tick = os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return {}
    user, nice, system, _idle, _iowait, irq, softirq, steal = ticks
    busy = user + nice + system + irq + softirq
    return {"host_busy": busy / tick, "host_stolen": steal / tick}


def _host() -> dict[str, Any]:
    reported = {"cores": _cores(), "native_threads": _native_threads()}
    try:
        from distributed.system import MEMORY_LIMIT
    except ImportError:
        return reported
    return {**reported, "host_memory": int(MEMORY_LIMIT)}


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
    """The memory that this process has, as its system says: asked ten times a second."""

    def __init__(self) -> None:
        self._file: int | None = None
        try:
            self._file = os.open("/proc/self/statm", os.O_RDONLY)
        except OSError:  # a system without, or a process without another file
            pass

    def now(self) -> int:
        """Return bytes; 0 where the system does not say."""
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
