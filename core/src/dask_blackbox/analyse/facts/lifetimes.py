"""What existed at the same time: sums over workers are of those, and of no others.

Clusters follow each other in one script, `client.restart()` replaces all workers, adaptive
clusters come and go: workers of different times share no memory and no cores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import polars as pl

from dask_blackbox.analyse.facts.worker_exit import WorkerExit
from dask_blackbox.analyse.facts.worker_exits import worker_exits_of
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
