"""The progress of a task's Dask run, in the task's log; also each worker's death.

A task that computes for an hour is silent for an hour otherwise.  The pause between two
lines doubles until it is as long as the setting says, so that a day of work is a few
hundred lines, and a minute of it two.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from airflow_dask_blackbox.compat import conf
from airflow_dask_blackbox.task_log import Log

if TYPE_CHECKING:
    # The real one needs msgspec only, but it is needed in tasks only, too.
    from dask_blackbox.protocol.messages import LogLine, Progress

__all__ = ["ProgressLines", "progress_interval"]

_FIRST: Final = 15.0
_DEFAULT: Final = 300.0
_MOST_DEATHS: Final = 10
_SOON: Final = 1.0
"""Seconds; a shorter estimate says nothing."""


def progress_interval() -> float:
    """Return the seconds between two lines at most; 0: there are none.

    Option `progress_interval` in section `[dask_blackbox]` of Airflow's configuration.
    """
    setting = conf.get("dask_blackbox", "progress_interval", fallback=None)
    return _DEFAULT if setting in (None, "") else max(float(str(setting)), 0.0)


class ProgressLines:
    """Prints what the recorder reports every two seconds, far less often.

    Args:
        log: The task's logger.
        interval: Seconds between two lines, once the task has run for a while; 0: never.
        now: Returns seconds; for tests.
    """

    def __init__(
        self, log: Log, *, interval: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._log, self._interval, self._now = log, interval, now
        self._pause = min(_FIRST, interval)
        self._due = now() + self._pause
        self._shown: tuple[int, int, int] | None = None
        self._deaths = 0
        self._stalled = False
        self._stopped = False
        self._newest: Progress | None = None

    def stop(self) -> str:
        """Print nothing more; return how far the work is ("3 of 5 tasks done"), if known.

        What is reported after a stop is a consequence of it: the death of each worker.
        """
        self._stopped = True
        newest = self._newest
        return "" if newest is None or not newest.submitted else _done_text(newest)

    def update(self, progress: Progress) -> None:
        """Take a report, and print it if a line is due."""
        self._newest = progress
        if not self._interval or self._stopped:
            return
        for line in progress.lines:
            self._show_death(line)
        if not (progress.workers or progress.submitted or progress.finished):
            return  # there is no cluster yet
        stalled = progress.stall is not None
        newly = stalled and not self._stalled
        self._stalled = stalled
        now = self._now()
        if now < self._due and not newly:
            return
        shown = (progress.finished, progress.failed, progress.workers)
        if shown == self._shown and not newly:
            return  # and the next report that differs is printed at once
        self._shown = shown
        self._pause = min(self._pause * 2, self._interval)
        self._due = now + self._pause
        self._log.info("%s", progress_text(progress))

    def _show_death(self, line: LogLine) -> None:
        if line.level < logging.ERROR or not line.source.startswith("worker "):
            return
        self._deaths += 1
        if self._deaths > _MOST_DEATHS:
            return
        first = line.text.partition("\n")[0]
        self._log.warning("Dask %s: %s", line.source, first)
        if self._deaths == _MOST_DEATHS:
            self._log.warning("Dask: more deaths of workers are in the report only")


def _done_text(progress: Progress) -> str:
    """Return how many tasks are done, in a clause."""
    from dask_blackbox.formatting import count, counted

    done = counted(progress.finished, "task")
    if progress.submitted > progress.finished:
        done = f"{count(progress.finished)} of {counted(progress.submitted, 'task')}"
    return f"{done} done"


def progress_text(progress: Progress) -> str:
    """Return how far a run is, in a line."""
    from dask_blackbox.formatting import count, counted, duration, exact_size

    parts = [_done_text(progress)]
    if progress.failed:
        parts.append(f"{count(progress.failed)} failed")
    if progress.rate:
        parts.append(f"{progress.rate:,.1f}/s")
        left = progress.submitted - progress.finished - progress.failed
        if (needs := left / progress.rate) >= _SOON:
            parts.append(f"{duration(needs)} left at this rate")
    parts.append(counted(progress.workers, "worker"))
    if progress.memory:
        limit = (
            f" of {exact_size(progress.memory_limit)}" if progress.memory_limit else ""
        )
        parts.append(f"{exact_size(progress.memory)}{limit} of memory")
    if progress.stall is not None:
        lasted = duration(progress.stall.lasted)
        parts.append(f"no task has finished for {lasted}")
    return "Dask: " + ", ".join(parts)
