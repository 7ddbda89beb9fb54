"""What a host's page shows of a run beside its card: extremes and a picture."""

from __future__ import annotations

import polars as pl

from dask_blackbox.analyse.facts.executions import cached_keys_of, executions_of
from dask_blackbox.card import RunCard
from dask_blackbox.overview import Overview, TaskCost
from dask_blackbox.report.picture import picture_png
from dask_blackbox.run_tables import RunTables

_MOST = 5
_LARGE = 2**20


def overview_of(run: RunTables, card: RunCard) -> Overview:
    """Return the overview of a run."""
    executions = executions_of(run)
    if not len(executions):
        return Overview()
    tasks = executions.group_by("key", maintain_order=True).agg(
        pl.col("seconds").max(), pl.col("nbytes").max(), pl.len()
    )
    computed = ~pl.col("key").is_in(list(cached_keys_of(run)))
    timed = tasks.filter(pl.col("seconds").is_not_null() & computed)
    large = tasks.filter(pl.col("nbytes") >= _LARGE)
    return Overview(
        slowest=_costs(timed.top_k(_MOST, by="seconds")),
        largest=_costs(large.top_k(_MOST, by="nbytes")),
        picture=picture_png(run, card, scale=1),
    )


def _costs(tasks: pl.DataFrame) -> tuple[TaskCost, ...]:
    return tuple(
        TaskCost(
            key=each["key"],
            seconds=float(each["seconds"] or 0.0),
            nbytes=None if each["nbytes"] is None else int(each["nbytes"]),
            executions=int(each["len"]),
        )
        for each in tasks.iter_rows(named=True)
    )
