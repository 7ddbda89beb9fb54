"""Tasks that Dask gave up in a run that succeeded all the same: why, as if it had failed."""

from __future__ import annotations

import msgspec
import polars as pl

from dask_blackbox.analyse.state import state_of
from dask_blackbox.finding import Finding
from dask_blackbox.manifest import DriverException
from dask_blackbox.run import RunTables

__all__ = ["given_up"]

_KILLED = "killed"


def given_up(run: RunTables) -> tuple[Finding, ...]:
    """Return why tasks were given up, where the driver handled or never noticed it.

    That is the verdict which the run would have, had it failed of that.

    Args:
        run: The run.
    """
    from dask_blackbox.analyse import findings_in, verdict_of

    ending = run.ending
    if ending is None or state_of(run) != "succeeded":
        return ()
    killed = run.errors.filter(pl.col("outcome") == _KILLED).sort("at")
    if not len(killed):
        return ()
    last = killed.row(-1, named=True)
    failed = msgspec.structs.replace(
        ending,
        state="failed",
        exception=DriverException(
            exception=last["exception"] or "distributed.scheduler.KilledWorker",
            message=last["message"] or "",
            key=last["key"],
        ),
    )
    otherwise = run.with_ending(failed)
    verdict = verdict_of(findings_in(otherwise), otherwise)
    if verdict is None or verdict.rule == "unknown":
        return ()
    return (msgspec.structs.replace(verdict, severity="warning"),)
