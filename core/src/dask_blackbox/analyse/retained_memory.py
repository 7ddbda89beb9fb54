"""What earlier tasks had left in a worker's memory before the last one took it over its limit.

The task that runs when a worker dies of memory need not be the one that filled it: a cache,
a list of a module or a library's pool grows from task to task, and any task may be the last.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.facts.worker_exit import WorkerExit
from dask_blackbox.analyse.formatting import counted, quoted, size

__all__ = ["RetainedMemory", "retained_memory_of"]

_BEFORE = 2  # tasks that ended there: one may have loaded what all of them need
_SHARE = 0.5
_LONG = 1.0  # seconds


@dataclass(frozen=True, kw_only=True)
class RetainedMemory:
    """Memory that tasks left in a worker, and no result accounts for.

    Attributes:
        kept: Bytes, at least.
        tasks: How many had ended on that worker.
        prefixes: Of these tasks, the most frequent first.
    """

    kept: int
    tasks: int
    prefixes: tuple[str, ...]

    def reported(self) -> str:
        """Return a sentence on it."""
        return (
            f"At least {size(self.kept)} of its memory was retained by the "
            f"{counted(self.tasks, 'task')} that it had run before, and no result "
            "accounts for it."
        )

    def advice(self) -> str:
        """Return what to do, in sentences."""
        return (
            f"Look for what {quoted(self.prefixes, most=2)} keeps from one task to the next: "
            "module-level lists and caches (`functools.cache` without a size), attributes of "
            "the worker, sessions that are never closed, a native library's pool. "
            "Smaller pieces, more memory or workers that are replaced in time only "
            "delay it"
            " "
            "(`--lifetime … --lifetime-restart`)."
        )


def retained_memory_of(case: Case, death: WorkerExit) -> RetainedMemory | None:
    """Return what earlier tasks had left in a worker that died of memory, if it was most.

    Only of workers of one thread: of several tasks at once it is unknown whose it is.
    """
    limit = death.memory_limit or death.peak_memory
    if death.nthreads != 1 or not limit or not death.memory:
        return None
    tasks = case.run.tasks
    done = tasks.filter(
        (pl.col("worker") == death.address)
        & (pl.col("outcome") == "finished")
        & (pl.col("stop").dt.epoch("us") / 1e6 <= death.at)
    ).sort("stop")
    if len(done) < _BEFORE:
        return None
    # What falls in between is given back.  What comes after may be the last one's own.
    since, begun = (done["stop"][-n].timestamp() for n in (_BEFORE, 1))
    between = [
        rss for at, rss in death.memory if min(since, begun - _LONG) < at <= begun
    ]
    if len(between) < _BEFORE:
        return None
    floor = min(between)
    idle = min(rss for _, rss in death.memory)
    samples = case.run.metrics.filter(pl.col("source") == death.address)
    if len(samples):
        idle = min(idle, int(samples["memory"].min() or idle))  # type: ignore[arg-type]
    results = max(int(done["nbytes"].sum()), int(samples["managed"].max() or 0))  # type: ignore[arg-type]
    kept = floor - idle - results
    if kept < _SHARE * (limit - idle):
        return None
    prefixes = (
        done.group_by("prefix", maintain_order=True).len().sort("len", descending=True)
    )
    return RetainedMemory(
        kept=kept, tasks=len(done), prefixes=tuple(prefixes["prefix"].to_list())
    )
