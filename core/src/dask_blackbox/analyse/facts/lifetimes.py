"""When the workers and schedulers of a run existed, and which of them at the same time.

Clusters follow each other in one script, `client.restart()` replaces all workers, adaptive
clusters come and go: workers of different times share no memory and no cores, so sums
over workers are of those that existed together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import polars as pl

from dask_blackbox.analyse.facts.worker_exit import WorkerExit
from dask_blackbox.analyse.facts.worker_exits import worker_exits_of
from dask_blackbox.events import (
    DriverEnded,
    SchedulerClosing,
    SchedulerInfo,
    SchedulerLost,
)
from dask_blackbox.run_tables import RunTables


def most_at_once(
    workers: Iterable[WorkerExit], weight: Callable[[WorkerExit], float]
) -> tuple[WorkerExit, ...]:
    """Return the workers that existed when the sum of something over them was largest.

    Args:
        workers: Worker processes of any time.
    """
    known = tuple(workers)
    # Those that leave at the very moment at which others join are counted out first.
    moves = [(each.joined, 1, weight(each)) for each in known]
    moves += [(each.gone, 0, -weight(each)) for each in known if each.gone is not None]
    level = largest = 0.0
    moment = min((each.joined for each in known), default=0.0)
    for at, _, change in sorted(moves):
        level += change
        if level > largest:
            largest, moment = level, at
    return tuple(
        each
        for each in known
        if each.joined <= moment and (each.gone is None or each.gone > moment)
    )


def threads_of(worker: WorkerExit) -> int:
    """Return how many tasks a worker can run at once."""
    return worker.nthreads or 1


def limits_at_once(run: RunTables) -> tuple[WorkerExit, ...]:
    """Return the workers that existed when their memory limits were largest together."""
    return most_at_once(worker_exits_of(run), lambda each: each.memory_limit or 0)


def spilled_at_once(run: RunTables) -> int:
    """Return the most bytes that workers had spilled to disk at the same time."""
    sampled = run.metrics.group_by("at", maintain_order=True).agg(
        pl.col("spilled").sum()
    )
    return int(sampled["spilled"].max() or 0)  # type: ignore[arg-type]


class Schedulers:
    """The schedulers of a run."""

    def __init__(self, run: RunTables) -> None:
        self._known = sorted((each.at, each.subject) for each in run.of(SchedulerInfo))
        # A run that ended, or whose driver did, closes all of them.
        ends = [each.at for each in run.of(DriverEnded)]
        if run.ending is not None and run.ending.state == "succeeded":
            ends.append(run.ending.ended)
        self._all_close = min(ends, default=None)
        closing = [(each.scheduler, each.at) for each in run.of(SchedulerClosing)]
        self._closing = self._first(closing)
        self._lost = self._first(
            [(each.address, each.at) for each in run.of(SchedulerLost)]
        )

    def _first(self, moments: list[tuple[str | None, float]]) -> dict[str, float]:
        """Return the first moment of each scheduler."""
        found: dict[str, float] = {}
        for whose, at in moments:
            found.setdefault(self.of_worker(whose, at), at)
        return found

    def of_worker(self, scheduler: str | None, joined: float | None) -> str:
        """Return the address of a worker's scheduler.

        Args:
            scheduler: As the worker's arrival names it.
            joined: When the worker joined; of recordings that do not name it, the newest
                scheduler of that moment is meant.
        """
        if scheduler:
            return scheduler
        known = [who for at, who in self._known if joined is None or at <= joined]
        return known[-1] if known else ""

    def closing_of(self, scheduler: str) -> float | None:
        """Return when a scheduler began to close, epoch seconds; None: it did not."""
        moments = (self._closing.get(scheduler), self._all_close)
        return min((at for at in moments if at is not None), default=None)

    def end_of(self, scheduler: str) -> float | None:
        """Return from when on none of a scheduler's workers existed, as far as is known."""
        moments = (self._closing.get(scheduler), self._lost.get(scheduler))
        return min((at for at in moments if at is not None), default=None)


def schedulers_of(run: RunTables) -> Schedulers:
    """Return the schedulers of a run."""
    return run.once(Schedulers)
