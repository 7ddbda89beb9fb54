"""Uneven pieces: the biggest one decides how much memory a worker needs, not the mean."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from dask_blackbox.events import GraphUpdated
from dask_blackbox.run import RunTables

__all__ = ["Skew", "pieces_of", "skew_before", "usual_growth"]

_ENOUGH = 4
_UNEVEN = 3.0
_WORTH_A_WORD = 0.01


@dataclass(frozen=True, kw_only=True)
class Skew:
    """Results of one prefix of which one is far larger than the others.

    Attributes:
        prefix: Of the tasks.
        key: Of the task with the largest result.
        largest: Its bytes.
        median: Of all of them, in bytes.
    """

    prefix: str
    key: str
    largest: int
    median: int

    @property
    def times(self) -> float:
        """How much larger it is than the median."""
        return self.largest / max(self.median, 1)


def skew_before(run: RunTables, moment: float, limit: int | None) -> Skew | None:
    """Return the most uneven large results that there were at a moment.

    Args:
        run: The recording.
        moment: Epoch seconds.
        limit: Bytes that a worker may have: pieces of less than a hundredth don't matter.
    """
    done = run.tasks.filter(
        (pl.col("outcome") == "finished")
        & (pl.col("stop").dt.epoch("us") / 1e6 <= moment)
        & (pl.col("nbytes") > 0)
    )
    by_prefix = (
        done.sort("nbytes")
        .group_by("prefix", maintain_order=True)
        .agg(
            pl.len().alias("number"),
            pl.col("nbytes").median().alias("median"),
            pl.col("nbytes").last().alias("largest"),
            pl.col("key").last().alias("key"),
        )
        .filter(
            (pl.col("number") >= _ENOUGH)
            & (pl.col("largest") >= _UNEVEN * pl.col("median"))
            & (pl.col("largest") >= _WORTH_A_WORD * (limit or 0))
        )
        .sort("largest", descending=True)
    )
    for row in by_prefix.iter_rows(named=True):
        return Skew(
            prefix=row["prefix"],
            key=row["key"],
            largest=int(row["largest"]),
            median=int(row["median"]),
        )
    return None


def usual_growth(run: RunTables, prefix: str, idle: int) -> int | None:
    """Return by how much workers grew while they ran tasks of a prefix that succeeded.

    The median over the tasks during which a worker was sampled; None if none was.
    """
    tasks = run.tasks.filter(
        (pl.col("prefix") == prefix) & (pl.col("outcome") == "finished")
    ).select("key", "worker", "start", "stop")
    samples = run.metrics.select(
        pl.col("source").alias("worker"), "at", "memory"
    ).drop_nulls()
    if not len(tasks) or not len(samples):
        return None
    seen = tasks.join(samples, on="worker").filter(
        pl.col("at").is_between(pl.col("start"), pl.col("stop"))
    )
    peaks = seen.group_by("key", maintain_order=True).agg(pl.col("memory").max())[
        "memory"
    ]
    grown = [int(peak) - idle for peak in peaks.to_list() if peak > idle]
    return sorted(grown)[len(grown) // 2] if grown else None


def pieces_of(run: RunTables, prefix: str) -> int:
    """Return how many tasks of a prefix the newest graph with it had; 0 if unknown."""
    for graph in reversed(run.of(GraphUpdated)):
        number = graph.prefixes.get(prefix)
        if number:
            return number
    return 0
