"""Clusters that are stopped as a whole: their workers first, and then their scheduler.

A manager that is asked to end a cluster (a gateway, an operator, a person) sends a signal to each
of its processes.  Where that was not the driver's order, the loss of the scheduler is what the
run lost; that its workers had been ended a moment before is part of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dask_blackbox.analyse.facts.outcome import outcome_of
from dask_blackbox.analyse.facts.schedulers import schedulers_of
from dask_blackbox.analyse.facts.units import unit_at_exit
from dask_blackbox.analyse.facts.worker_exit import WINDOW, WorkerExit
from dask_blackbox.analyse.signals import BY_SIGNAL
from dask_blackbox.end_orders import OF_THE_CLUSTER
from dask_blackbox.run_tables import RunTables

_TAKES = 30.0
"""Seconds that a manager may take for the workers of a cluster before it ends the scheduler."""


def without_stopped_clusters(
    run: RunTables, exits: Sequence[WorkerExit]
) -> Iterator[WorkerExit]:
    """Yield worker processes; those that ended as their whole cluster was stopped did not die."""
    moments: dict[str, float | None] = {}
    for each in exits:
        scheduler = schedulers_of(run).of_worker(each.scheduler, each.joined)
        if scheduler not in moments:
            of_worker = schedulers_of(run).of_worker
            own = [x for x in exits if of_worker(x.scheduler, x.joined) == scheduler]
            moments[scheduler] = _stopped_from(run, scheduler, own)
        since = moments[scheduler]
        if since is None or not _was_stopped(run, each) or each.at < since:
            yield each
        else:
            yield replace(
                each, died=False, ended_by="orderly", ordered_by=OF_THE_CLUSTER
            )


def _stopped_from(
    run: RunTables, scheduler: str, own: Sequence[WorkerExit]
) -> float | None:
    """Return from when on a whole cluster was being stopped, epoch seconds; None: it was not.

    Args:
        own: The worker processes of that scheduler.
    """
    closing = schedulers_of(run).stopped_at(scheduler)
    # What happens after the outcome is another matter, and so is what led to it.
    if closing is None or outcome_of(run).is_after(closing):
        return None
    survived = any(
        each.joined < closing and (each.gone is None or each.gone >= closing)
        for each in own
    )
    # Where workers were left, only what ended at the same moment belongs together.
    return closing - (WINDOW if survived else _TAKES)


def _was_stopped(run: RunTables, process: WorkerExit) -> bool:
    """Return whether a signal to stop ended a process, of which its manager says nothing else."""
    if not process.died or process.sent_from is not None:
        return False
    if not (process.closing or "").startswith(BY_SIGNAL):
        return False
    unit = unit_at_exit(run, process)
    return unit is None or unit.ending == "cancelled"
