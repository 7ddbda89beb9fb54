"""Kinds of incident: slugs of rules, and the facts between a cause and the outcome."""

from __future__ import annotations

# Facts: kinds of incident that no rule reports, and that lie between a cause and the outcome.
KILLED_TASK = "killed-task"
NO_WORKERS = "no-workers"
STALL = "stall"
OUTCOME = "outcome"

FACTS = frozenset({KILLED_TASK, NO_WORKERS, STALL, OUTCOME})

DEATHS = frozenset(
    {
        "environment-mismatch",
        "kernel-oom",
        "module-not-shipped",
        "task-memory-error",
        "worker-abort",
        "worker-cancelled",
        "worker-evicted",
        "worker-exit",
        "worker-heartbeat-timeout",
        "worker-host-lost",
        "worker-job-memory",
        "worker-lifetime",
        "worker-memory-limit",
        "worker-node-failed",
        "worker-preempted",
        "worker-segfault",
        "worker-signalled",
        "worker-time-limit",
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
        "pod-not-started",
        "too-many-open-files",
        "workers-never-arrived",
        "workers-paused",
        "workers-pending",
    }
)
"""What tasks wait for, forever and without an exception."""

HANGS = DEATHS | WAITS
"""What leaves tasks waiting forever, without an exception."""

NOT_RAISED = HANGS - {
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

GENERAL = OF_THE_DRIVER | {"stalled", "unknown"}
"""What says how the run ended, or that nothing moved, and not why."""

STARTS = frozenset({"tls-misconfigured", "worker-start-failed", "environment-mismatch"})

RAISED = frozenset({"driver-exception", "task-exception"})
"""Verdicts that an exception of the job is what happened."""

MISSED = frozenset(
    {
        "cannot-connect",
        "data-lost",
        "stalled",
        "worker-start-failed",
        "workers-never-arrived",
    }
)
"""Verdicts about what was not there."""

SYMPTOMS = MISSED | RAISED | {"cancelled"}
"""Verdicts that may follow from what the run itself had handled."""

OF_A_PROCESS = RAISED | {"task-memory-error", "too-many-open-files"}
"""Verdicts that a limit or a default of a process can bring about."""

REMOVED = "removed-file"

UNPLACED = frozenset({"no-valid-worker"})
"""Verdicts that no worker could run a task."""
