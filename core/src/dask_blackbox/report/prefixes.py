"""The tasks by prefix: how many, how long, how much, how often in trouble."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

__all__ = ["PrefixRow", "prefix_rows"]


class PrefixRow(NamedTuple):
    """Totals of one prefix; times in seconds, sizes in bytes."""

    prefix: str
    tasks: int
    compute: float
    least: float | None
    p25: float | None
    median: float | None
    p75: float | None
    p95: float | None
    most: float | None
    transfer: float
    disk: float
    nbytes: int
    erred: int
    retried: int
    killed: int


def prefix_rows(executions: pl.DataFrame) -> list[PrefixRow]:
    """Return one row per prefix, the most computed first."""
    outcome = pl.col("outcome")
    table = (
        executions.group_by("prefix", maintain_order=True)
        .agg(
            pl.len().alias("tasks"),
            pl.col("seconds").sum().alias("compute"),
            pl.col("seconds").min().alias("least"),
            pl.col("seconds").quantile(0.25, "nearest").alias("p25"),
            pl.col("seconds").median().alias("median"),
            pl.col("seconds").quantile(0.75, "nearest").alias("p75"),
            pl.col("seconds").max().alias("most"),
            pl.col("seconds").quantile(0.95, "nearest").alias("p95"),
            pl.col("transfer").sum(),
            pl.col("disk").sum(),
            pl.col("nbytes").sum(),
            *(
                (outcome == word).sum().alias(word)
                for word in ("erred", "retried", "killed")
            ),
        )
        .sort("compute", "prefix", descending=[True, False])
        .select(PrefixRow._fields)
    )
    return [PrefixRow(*row) for row in table.iter_rows()]
