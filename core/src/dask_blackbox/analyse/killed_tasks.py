"""Tasks that Dask gave up in a run that succeeded all the same: why, as if it had failed."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import polars as pl

from dask_blackbox.analyse.state import state_of
from dask_blackbox.finding import Finding
from dask_blackbox.manifest import DriverException
from dask_blackbox.run import RunTables

__all__ = ["with_killed_tasks"]

_KILLED = "killed"
_DEATHS = "workers-died"


def with_killed_tasks(
    run: RunTables, findings: Sequence[Finding]
) -> tuple[Finding, ...]:
    """Return findings, and why tasks were given up if the driver handled or never noticed it.

    That is the verdict which the run would have, had it failed of that.  It is about
    deaths of workers: where it is about all of them, the warning that there were some
    says nothing more.

    Args:
        run: The run.
        findings: What was found in it.
    """
    from dask_blackbox.analyse import findings_in, verdict_of

    ending = run.ending
    if ending is None or state_of(run) != "succeeded":
        return tuple(findings)
    killed = run.errors.filter(pl.col("outcome") == _KILLED).sort("at")
    if not len(killed):
        return tuple(findings)
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
    found = findings_in(otherwise)
    verdict = verdict_of(found, otherwise)
    if verdict is None or verdict.rule == "unknown":
        return tuple(findings)
    others = any(each.rule == _DEATHS for each in found)
    kept = [each for each in findings if others or each.rule != _DEATHS]
    return (msgspec.structs.replace(verdict, severity="warning"), *kept)
