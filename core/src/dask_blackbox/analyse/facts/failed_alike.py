"""How many tasks of a kind failed in the same way: one bad piece, or all of them."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from dask_blackbox.analyse.failures import TaskFailure
from dask_blackbox.analyse.frames import last_frame, user_frame
from dask_blackbox.events import GraphUpdated
from dask_blackbox.run import RunTables

__all__ = ["FailedAlike", "failed_alike"]

_RAISED = ("erred", "released")
_MOST = 1_000


@dataclass(frozen=True, kw_only=True)
class FailedAlike:
    """Tasks that failed as one did.

    Attributes:
        failed: How many tasks raised the same class at the same line, that one included.
        attempted: How many tasks of its prefix were executed, however that ended.
        planned: How many its graph had; 0 if that was not recorded.
    """

    failed: int
    attempted: int
    planned: int = 0


def failed_alike(run: RunTables, failure: TaskFailure) -> FailedAlike:
    """Return how many tasks failed as one did.

    Those count that Dask had released when they raised, as nobody waited for them any more.

    Args:
        run: The recording.
        failure: Of the one task.
    """
    same = pl.col("prefix") == failure.prefix
    own = pl.col("cause").is_null() | (pl.col("cause") == pl.col("key"))
    raised = run.errors.filter(same & own & pl.col("outcome").is_in(_RAISED))
    alike = raised.filter(pl.col("exception") == failure.exception).unique(
        "key", maintain_order=True
    )
    place = _place(failure.traceback)
    failed = sum(
        key == failure.key or _place(traceback or "") == place
        for key, traceback in alike.select("key", "traceback").head(_MOST).iter_rows()
    )
    executed = run.tasks.filter(same)["key"]
    attempted = pl.concat([executed, raised["key"]]).n_unique()
    graphs = [each for each in run.of(GraphUpdated) if each.at <= failure.at]
    planned = [
        number for each in graphs if (number := each.prefixes.get(failure.prefix))
    ]
    return FailedAlike(
        failed=max(failed, 1),
        attempted=max(attempted, failed, 1),
        planned=planned[-1] if planned else 0,
    )


def _place(traceback: str) -> tuple[str, int] | None:
    """Return file and line that raised, of the user's own code if it went through that."""
    frame = user_frame(traceback) or last_frame(traceback)
    return None if frame is None else (frame.file, frame.line)
