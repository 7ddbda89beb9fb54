"""The catalogue of mechanisms: which kind of incident can bring about which other kind.

A kind is the slug of a rule, or one of the facts below.  No row ranks anything: a row says
that one thing can follow from another, on what, and within what time.  Of two incidents
that a row links, the effect is not the root, unless Dask recovers from the cause alone.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Literal

from dask_blackbox.analyse.facts.outcome import CLOCKS

# Facts: kinds of incident that no rule reports, and that lie between a cause and the outcome.
KILLED_TASK = "killed-task"
NO_WORKERS = "no-workers"
STALL = "stall"
OUTCOME = "outcome"

_FACTS = frozenset({KILLED_TASK, NO_WORKERS, STALL, OUTCOME})

DEATHS = frozenset(
    {
        "environment-mismatch",
        "kernel-oom",
        "module-not-shipped",
        "task-memory-error",
        "worker-abort",
        "worker-exit",
        "worker-heartbeat-timeout",
        "worker-host-lost",
        "worker-lifetime",
        "worker-memory-limit",
        "worker-preempted",
        "worker-segfault",
        "worker-signalled",
    }
)
"""What worker processes end of."""

WAITS = frozenset(
    {
        "cluster-lost-worker",
        "dependency-not-serializable",
        "disk-full",
        "nested-client-deadlock",
        "no-valid-worker",
        "too-many-open-files",
        "workers-never-arrived",
        "workers-paused",
    }
)
"""What tasks wait for, forever and without an exception."""

_HANGS = DEATHS | WAITS
"""What leaves tasks waiting forever, without an exception."""

_NOT_RAISED = _HANGS - {
    "environment-mismatch",
    "module-not-shipped",
    "no-valid-worker",
    "task-memory-error",
    "too-many-open-files",
}
"""Deaths and waits that are never what a task's exception reports."""

STALLED = "stalled"
"""The rule for runs that wait for something unknown."""

OF_THE_DRIVER = frozenset({"driver-exception", "driver-killed"})
"""Verdicts that say how the driver ended: the outcome itself."""

_GENERAL = OF_THE_DRIVER | {"stalled", "unknown"}
"""What says how the run ended, or that nothing moved, and not why."""

_STARTS = frozenset(
    {"tls-misconfigured", "worker-start-failed", "environment-mismatch"}
)


class _AllBut(Container[str]):
    """Every kind of finding, those of the user's rules included, but a few."""

    def __init__(self, *kinds: str) -> None:
        self._kinds = frozenset(kinds)

    def __contains__(self, kind: object) -> bool:
        return kind not in self._kinds and kind not in _FACTS


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """One way in which incidents follow from each other.

    Attributes:
        causes: Kinds of the first incident.
        effects: Kinds of the second.
        because: Why the second is not the root, completing “it is not the cause: …”.
        on: What both must be about.
        within: Seconds after the cause within which the effect begins; where it is infinite,
            their times decide nothing.
        before: Seconds before the cause in which the effect may be noticed: clocks differ,
            and a process may learn late of what ended it.
        same: Both describe one incident, and the first says more of it.
        survived: Dask recovers from the cause alone.  So the effect is the verdict, and the
            cause a step before it.
        once: It recovers from one such cause, and not if it ends one process after another:
            then the cause is the verdict.
    """

    causes: Container[str]
    effects: Container[str]
    because: str
    on: Literal["anything", "task", "worker"] = "anything"
    within: float = float("inf")
    before: float = CLOCKS
    same: bool = False
    survived: bool = False
    once: bool = False


MECHANISMS: tuple[Mechanism, ...] = (
    # One incident, reported in general and in particular.
    Mechanism(
        causes=_AllBut("unknown"),
        effects={"unknown"},
        because="another rule knows the cause",
        same=True,
    ),
    Mechanism(
        causes=_AllBut("unknown", "driver-killed"),
        effects={"driver-killed"},
        because="the verdict explains what the driver waited for when it was stopped",
    ),
    Mechanism(
        causes=_AllBut(*(_GENERAL - {"stalled"})),
        effects={"driver-exception"},
        because="the driver received the failure as this exception",
        same=True,
    ),
    Mechanism(
        causes=_AllBut(
            *_NOT_RAISED, *_GENERAL, "cancelled", "part-failed", "task-exception"
        ),
        effects={"task-exception"},
        on="task",
        because="it is the same exception; a more specific rule explains it",
        same=True,
    ),
    Mechanism(
        causes={"result-too-large"},
        effects={"task-memory-error"},
        on="task",
        because="the scheduler raised it; the task was never started",
        same=True,
    ),
    Mechanism(
        causes={"module-not-shipped"},
        effects={"environment-mismatch"},
        because="the missing module is a file on the driver's machine, not a package",
        same=True,
    ),
    Mechanism(
        causes={"tls-misconfigured"},
        effects={"worker-start-failed"},
        because="the workers failed to start because of the TLS failure",
        same=True,
    ),
    Mechanism(
        causes={"p2p-out-of-disk", "too-many-open-files"},
        effects={"p2p-failed"},
        because="the verdict is the reason why the shuffle failed",
        same=True,
    ),
    # Nothing moves, and why.
    Mechanism(
        causes=_AllBut(*_GENERAL, "task-exception", "cancelled"),
        effects={"stalled"},
        because="it reports that no task progressed, but not why",
        same=True,
    ),
    Mechanism(
        causes={"disk-full"},
        effects={"workers-paused"},
        because="the workers stayed paused because they could not spill to a full disk",
    ),
    Mechanism(
        causes={"cluster-lost-worker"},
        effects={"no-valid-worker", "workers-never-arrived"},
        because="no worker was left because the cluster object had closed them",
    ),
    Mechanism(
        causes={"worker-lifetime"},
        effects={"no-valid-worker"},
        because="no worker was left because all of them had reached their lifetime",
    ),
    Mechanism(
        causes=_STARTS | {"worker-memory-limit"},
        effects={"workers-never-arrived"},
        because="the missing workers failed to start, could not connect, or exited",
    ),
    Mechanism(
        causes={"workers-paused"},
        effects={"workers-never-arrived"},
        because="the driver waited for running workers, and these were paused",
    ),
    Mechanism(
        causes=_HANGS | {"stalled"},
        effects={"cancelled"},
        because="the run was stopped while it waited for this",
    ),
    Mechanism(
        causes={"part-failed"},
        effects=_AllBut("part-failed", "stopped-by-host"),
        because="a part of the run failed for this reason and has its own recording",
        same=True,
    ),
    Mechanism(
        causes={"stopped-by-host"},
        effects={"cancelled"},
        because="it is how the host stopped the run",
    ),
    Mechanism(
        causes={"stopped-by-host"},
        effects={"scheduler-lost"},
        within=60.0,
        before=15.0,
        because=(
            "a host that ends a run closes its cluster, possibly before the run is "
            "notified"
        ),
    ),
    # What the client learns when something else has happened.
    Mechanism(
        causes={"scheduler-lost"},
        effects=DEATHS,
        within=120.0,
        because="workers exit when their scheduler is gone",
    ),
    Mechanism(
        causes={"scheduler-lost", "cannot-connect", "data-lost", "actor-lost"},
        effects={"cancelled"},
        because="Dask cancels the futures that depend on what was lost",
    ),
    # What lies between a cause and the outcome.
    Mechanism(
        causes=DEATHS,
        effects={"data-lost", "actor-lost"},
        on="worker",
        because="Dask recovers from such a death, but not from the loss of the data or "
        "actor on that worker",
        survived=True,
    ),
    Mechanism(
        causes=DEATHS,
        effects={"p2p-failed"},
        within=120.0,
        because="Dask recovers from such a death, but the shuffle did not",
        survived=True,
    ),
    Mechanism(
        causes=DEATHS,
        effects={"cluster-lost-worker"},
        because="a nanny restarts such a worker; the cluster object closed it instead",
        survived=True,
        once=True,
    ),
    Mechanism(
        causes=DEATHS | {"unknown"},
        effects={KILLED_TASK},
        because="Dask gives up on a task whose workers died",
    ),
    Mechanism(
        causes=DEATHS | {"cluster-lost-worker", "no-valid-worker", "unknown"},
        effects={NO_WORKERS},
        because="the workers left and were not replaced",
    ),
    Mechanism(
        # A stall is itself; and without its scheduler, a run has no tasks that could wait.
        causes=_AllBut("task-exception", "driver-exception", STALLED, "scheduler-lost"),
        effects={STALL},
        because="tasks that cannot run block all tasks that depend on them",
    ),
    Mechanism(
        causes={NO_WORKERS}, effects={STALL}, because="no worker was left to run tasks"
    ),
    Mechanism(
        causes={NO_WORKERS, STALL, KILLED_TASK},
        effects={OUTCOME},
        because="the driver waited for it",
    ),
    Mechanism(
        causes=_AllBut(), effects={OUTCOME}, because="the driver waited for its result"
    ),
)

EXPLAINS: tuple[Mechanism, ...] = (
    Mechanism(
        causes=_AllBut(),
        effects={"task-exception"},
        on="task",
        because="the verdict is about that task",
    ),
    Mechanism(
        causes={"scheduler-overloaded"},
        effects={"tiny-tasks"},
        because="threads waited for the scheduler",
    ),
    Mechanism(
        causes={"straggler"},
        effects={"workers-idle"},
        because="workers were idle while one task still ran",
    ),
    Mechanism(
        causes={"gil-bound"},
        effects={"cpu-oversubscribed"},
        because="threads waited for the GIL, not for a core",
    ),
)
"""Findings that explain no failure, and what else they explain: that is not reported."""
