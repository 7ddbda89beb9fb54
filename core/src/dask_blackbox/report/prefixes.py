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
    median: float | None
    p95: float | None
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
        executions.group_by("prefix")
        .agg(
            pl.len().alias("tasks"),
            pl.col("compute").sum(),
            pl.col("compute").median().alias("median"),
            pl.col("compute").quantile(0.95, "nearest").alias("p95"),
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
