"""How a worker's memory grew while a task ran: before others began, and since."""

from __future__ import annotations

from dataclasses import dataclass

from dask_blackbox.analyse.facts.worker_exit import RunningTask, WorkerExit

__all__ = ["MemoryGrowth", "memory_growth"]

_MUCH = 64 * 2**20
_SOON = 0.5
_BEGUN = 0.1
"""Share of all growth from which on memory has begun to grow."""


@dataclass(frozen=True, kw_only=True)
class MemoryGrowth:
    """How memory grew during one execution of a task, on the worker that it ended with.

    Attributes:
        grown: Bytes since it started.
        before: Bytes that it had grown before that, while other tasks ran that were still
            running at the end.
        quiet: Seconds for which it ran before memory began to grow.
    """

    grown: int
    before: int
    quiet: float


def memory_growth(death: WorkerExit, task: RunningTask) -> MemoryGrowth | None:
    """Return how memory grew during a task that ran at its worker's end.

    None where memory did not grow much, or there are too few samples to say.
    """
    starts = [each.start for each in death.running if each.start is not None]
    if task.start is None or not starts:
        return None
    first = _memory_at(death, min(starts))
    own = _memory_at(death, task.start)
    if first is None or own is None:
        return None
    last = death.peak_memory or death.memory[-1][1]
    if last - first < _MUCH:
        return None
    begun = first + _BEGUN * (last - first)
    onset = next(
        (at for at, rss in death.memory if at >= min(starts) and rss >= begun), death.at
    )
    return MemoryGrowth(
        grown=last - own, before=own - first, quiet=max(onset - task.start, 0.0)
    )


def _memory_at(death: WorkerExit, moment: float) -> int | None:
    """Return the memory at a moment: of the last sample before it, or of one soon after."""
    before = [rss for at, rss in death.memory if at <= moment]
    if before:
        return before[-1]
    after = [rss for at, rss in death.memory if at - moment <= _SOON]
    return after[0] if after else None
