"""Tasks that returned None, and others that failed on it."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from dask_blackbox.analyse.failures import TaskFailure
from dask_blackbox.run_tables import RunTables

__all__ = ["NoneResult", "none_result_behind"]

_NONE = "NoneType"


@dataclass(frozen=True)
class NoneResult:
    """The result that a task failed on.

    Attributes:
        key: Of a task that returned None.
        prefix: Of that task.
        number: How many tasks of the prefix returned None.
        finished: How many of them finished.
    """

    key: str
    prefix: str
    number: int
    finished: int


def none_result_behind(run: RunTables, failure: TaskFailure) -> NoneResult | None:
    """Return the task whose None another task failed on; None if it did not.

    Its exception names the type, and the last input of it, or of one that failed like it,
    had that.

    Args:
        run: The recording.
        failure: The task that raised.
    """
    if _NONE not in failure.message:
        return None
    tasks = run.tasks.select("key", "prefix", "outcome", "typename", "last_input")
    finished = tasks.filter(pl.col("outcome") == "finished")
    of_none = finished.filter(pl.col("typename") == _NONE)
    # Of several inputs, the last one need not be the one that is None: others say more.
    alike = tasks.filter(
        (pl.col("prefix") == failure.prefix) & (pl.col("outcome") == "erred")
    )
    own = alike.filter(pl.col("key") == failure.key)
    for failed in (own, alike):
        made = of_none.filter(pl.col("key").is_in(failed["last_input"].to_list()))
        if len(made):
            break
    else:
        return None
    prefix = str(made["prefix"][0])
    return NoneResult(
        key=str(made["key"][0]),
        prefix=prefix,
        number=of_none.filter(pl.col("prefix") == prefix)["key"].n_unique(),
        finished=finished.filter(pl.col("prefix") == prefix)["key"].n_unique(),
    )
