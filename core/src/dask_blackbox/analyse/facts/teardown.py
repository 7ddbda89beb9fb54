"""The teardown: what the driver's own script did to its cluster, and from when on.

Scripts that start their own scheduler and workers end them in a `finally:`.  Dask's processes
then log the same lines as at an eviction; what differs is who sent the signal, and when.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dask_blackbox.analyse.facts.outcome import Outcome
from dask_blackbox.events import (
    ClientAdded,
    CommandStarted,
    DriverAttached,
    DriverClosing,
    DriverSignalled,
    GraphUpdated,
    ProcessAncestors,
    SchedulerInfo,
    TaskSignalled,
    WorkerAdded,
)
from dask_blackbox.run_tables import RunTables

_SOON = 10.0
"""Seconds within which a process ends that was asked to."""


_STOP = ("SIGSTOP", "SIGTSTP")
_ENDS_NOTHING = {*_STOP, "SIGCONT", "SIGCHLD", "SIGURG", "SIGWINCH"}

Signalled = DriverSignalled | TaskSignalled
Action = DriverSignalled | DriverClosing
"""Something that the script did to end a process, or to close a client or cluster."""


@dataclass(frozen=True, kw_only=True)
class Teardown:
    """How the script ended its own cluster.

    Attributes:
        since: When the teardown began, epoch seconds; None if there was none.
        actions: Everything that the script did to its cluster's processes, by time, before
            the outcome as well.
        pids: Process id of each worker and scheduler, with those of its ancestors, by address.
        own: Addresses of those that the driver's process, or the command, has started.
        stops: The job's own signals that stop or resume a process, by time.
        outcome: What ended the driver's work.
    """

    since: float | None = None
    actions: tuple[Action, ...] = ()
    pids: Mapping[str, frozenset[int]] = field(default_factory=dict, repr=False)
    own: frozenset[str] = frozenset()
    stops: tuple[Signalled, ...] = field(default=(), repr=False)
    outcome: Outcome = field(repr=False)

    def action_on(self, address: str, at: float) -> DriverSignalled | None:
        """Return the script's own act that ended a worker or scheduler around a moment.

        Args:
            address: Of the worker or the scheduler.
            at: When that was seen to end, epoch seconds.
        """
        pids = self.pids.get(address, frozenset())
        clocks = self.outcome.clocks
        near = [
            action
            for action in self.actions
            if isinstance(action, DriverSignalled)
            and action.at - clocks <= at <= action.at + _SOON + clocks
            and action.target in pids
            and action.signal not in _ENDS_NOTHING
        ]
        return near[-1] if near else None

    def stop_of(self, address: str, pid: int | None, at: float) -> Signalled | None:
        """Return the job's own signal that had stopped a worker, if none had resumed it.

        Args:
            address: Of the worker.
            pid: Its process, if that is known.
            at: When it was still stopped, epoch seconds.
        """
        pids = self.pids.get(address, frozenset()) | ({pid} if pid else set())
        before = (
            each
            for each in self.stops
            if each.target in pids and each.at - self.outcome.clocks <= at
        )
        last = max(before, key=lambda each: each.at, default=None)
        return last if last is not None and last.signal in _STOP else None

    def includes(self, address: str, at: float) -> bool:
        """Return whether the end of a worker or scheduler at a moment belongs to the teardown.

        Args:
            address: Of the worker or the scheduler.
            at: When that was seen to end, epoch seconds.
        """
        action = self.action_on(address, at)
        if self.since is not None:
            if action is not None and action.at >= self.since:
                return True
            if at >= self.since and address in self.own:
                return True
        return self.outcome.is_after(at)


def task_signal_to(
    run: RunTables, pids: frozenset[int], at: float, clocks: float
) -> TaskSignalled | None:
    """Return the signal that code in a worker's process sent to a process around a moment.

    Args:
        run: The run.
        pids: Process ids of that process and of its ancestors, which lead process groups.
        at: When it was seen to end, epoch seconds.
        clocks: Seconds by which clocks may differ.
    """
    near = [
        sent
        for sent in run.of(TaskSignalled)
        if sent.target in pids
        and sent.at - clocks <= at <= sent.at + _SOON + clocks
        and sent.signal not in _ENDS_NOTHING
    ]
    return near[-1] if near else None


def teardown_of(run: RunTables, outcome: Outcome) -> Teardown:
    """Return what the script did to its own cluster."""
    pids = _pids(run)
    # What the driver sends to itself ends no part of its cluster.
    sent = [each for each in run.of(DriverSignalled) if each.target != each.pid]
    actions: list[Action] = [*sent, *run.of(DriverClosing)]
    actions.sort(key=lambda action: action.at)
    drivers = {each.pid for each in run.of(DriverAttached)}
    drivers |= {each.pid for each in run.of(CommandStarted)}
    begun = [
        each.at
        for each in (*run.of(GraphUpdated), *run.of(ClientAdded), *run.of(WorkerAdded))
    ]
    signalled: list[Signalled] = [*sent, *run.of(TaskSignalled)]
    return Teardown(
        since=_since(tuple(actions), outcome, begun),
        actions=tuple(actions),
        pids=pids,
        stops=tuple(e for e in signalled if e.signal in {*_STOP, "SIGCONT"}),
        own=frozenset(each for each, chain in pids.items() if chain & drivers),
        outcome=outcome,
    )


def _since(
    actions: tuple[Action, ...], outcome: Outcome, begun: list[float]
) -> float | None:
    """Return when the script started the final shutdown of its cluster.

    That is its first act after the outcome, or, of a run that succeeded, the first after
    which it began nothing any more and no call to Dask raised.
    """
    decided = outcome.decided_at
    if decided is None:
        return None
    if outcome.kind == "none":
        last = max([*(each.at for each in outcome.received), *begun], default=0.0)
        return min((action.at for action in actions if action.at > last), default=None)
    return min((action.at for action in actions if action.at >= decided), default=None)


def _pids(run: RunTables) -> dict[str, frozenset[int]]:
    """Return the process ids of workers and schedulers with those of their ancestors.

    Those of another machine, or of another container, are other processes.
    """
    here = {each.boot for each in run.of(DriverAttached)} - {None}
    found: dict[str, set[int]] = {}
    reported: list[ProcessAncestors | SchedulerInfo] = [
        *run.of(ProcessAncestors),
        *run.of(SchedulerInfo),
    ]
    for each in reported:
        if each.boot in here:
            pids = found.setdefault(each.subject, set())
            pids.update(pid for pid, _ in each.ancestors)
            pids.update([each.pid] if each.pid else [])
    return {address: frozenset(pids) for address, pids in found.items()}
