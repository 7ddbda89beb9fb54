"""Who ended a run before its work was done: its host, or the manager of the driver's own job."""

from __future__ import annotations

from dask_blackbox.analyse.facts.units import UnitEnding, units_of
from dask_blackbox.analyse.run_state import ASKED, signal_of_driver
from dask_blackbox.managers import manager_named
from dask_blackbox.manifest import Stopped
from dask_blackbox.run_tables import RunTables

_REASONS: dict[UnitEnding, str] = {
    "time-limit": "run-timeout",
    "cancelled": "cancelled",
    "preempted": "other",
    "evicted": "other",
    "node-failed": "other",
}
"""Why a unit's manager ended the driver in it, as `Stopped` has it."""


def stopped_of(run: RunTables) -> Stopped | None:
    """Return that a host, a person or a cluster manager ended a run; None: nobody did."""
    ending = run.ending
    if ending is None or (ending.stopped and ending.stopped.reason != "other"):
        return None if ending is None else ending.stopped
    return _by_its_manager(run) or ending.stopped


def _by_its_manager(run: RunTables) -> Stopped | None:
    """Return that the job which the driver ran in was ended, and the driver by its signal."""
    unit = units_of(run).of_driver
    if unit is None or unit.ending not in _REASONS or not unit.states:
        return None
    if signal_of_driver(run) not in {*ASKED, "SIGKILL"}:
        return None
    manager = manager_named(unit.manager)
    limited = unit.ending == "time-limit"
    return Stopped(
        by=unit.manager,
        reason=_REASONS[unit.ending],
        limit=unit.state.time_limit if limited else None,
        setting=manager.limit if limited and manager is not None else "",
    )
