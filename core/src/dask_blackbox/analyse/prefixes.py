"""What the tasks of each prefix computed, and how a finding tells of it."""

from __future__ import annotations

import polars as pl

from dask_blackbox.analyse.core_seconds import Loads
from dask_blackbox.analyse.formatting import counted, duration, short
from dask_blackbox.finding import Evidence

__all__ = ["computed_by_prefix", "evidence_of_prefixes"]

_REPORTED = 5


def computed_by_prefix(loads: Loads) -> pl.DataFrame:
    """Return the `number` of executions of each `prefix` and their `compute`, in seconds."""
    return loads.tasks.group_by("prefix", maintain_order=True).agg(
        number=pl.len(), compute=pl.col("compute").sum()
    )


def evidence_of_prefixes(prefixes: pl.DataFrame) -> tuple[Evidence, ...]:
    """Return evidence for the first rows of `computed_by_prefix`, as they are sorted."""
    return tuple(
        Evidence(
            text=f"'{short(str(row['prefix']), 60)}': {counted(row['number'], 'task')}, "
            f"{duration(row['compute'])} of computing",
            source="tasks",
        )
        for row in prefixes.head(_REPORTED).iter_rows(named=True)
    )
