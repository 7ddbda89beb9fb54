"""Words for jobs and pods, and for what their managers say, or do not say, of them."""

from __future__ import annotations

from dask_blackbox.analyse.facts.units import UnitEnding, units_of
from dask_blackbox.manifest import Stopped
from dask_blackbox.run_tables import RunTables

_ENDED: dict[UnitEnding, str] = {
    "time-limit": "{unit} reached its time limit",
    "cancelled": "{unit} was cancelled{by}",
    "preempted": "{unit} was preempted",
    "evicted": "{unit} was evicted",
    "node-failed": "the node of {unit} failed",
}


def why_stopped(run: RunTables, stopped: Stopped) -> str:
    """Return what a host said as it ended a run, or how the job ended that the driver was in."""
    unit = units_of(run).of_driver
    if stopped.detail or unit is None or unit.manager != stopped.by:
        return stopped.detail
    clause = "" if unit.ending is None else _ENDED.get(unit.ending, "")
    by = f" by {unit.state.by}" if unit.state.by else ""
    return clause.format(unit=f"{unit.word} {unit.id}", by=by)


def silence(run: RunTables, manager: str) -> str:
    """Return why a manager said nothing, as a clause; empty: it was asked, and answered."""
    errors = units_of(run).errors_of(manager)
    if errors is None:
        return f"{manager} was not asked"
    return next(iter(errors), "")
