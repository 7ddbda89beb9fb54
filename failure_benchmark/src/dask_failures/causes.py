"""The vocabulary: what a diagnoser may name as the cause of a failed run."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["CAUSES", "GROUPS", "HEALTHY", "NOT_VISIBLE", "UNKNOWN", "group_of"]

GROUPS: Mapping[str, tuple[str, ...]] = {
    "code that raised": ("task-exception", "driver-exception", "silent-empty-input"),
    "memory": (
        "worker-memory-limit",
        "task-memory-error",
        "result-too-large",
        "kernel-oom",
        "worker-job-memory",
        "workers-paused",
        "memory-leak",
    ),
    "workers that ended": (
        "worker-segfault",
        "worker-abort",
        "worker-exit",
        "worker-signalled",
        "worker-heartbeat-timeout",
        "worker-preempted",
        "worker-time-limit",
        "worker-evicted",
        "worker-lifetime",
        "worker-host-lost",
        "actor-lost",
        "data-lost",
        "cluster-lost-worker",
        "workers-died",
    ),
    "driver or scheduler that ended": (
        "driver-killed",
        "scheduler-lost",
        "cancelled",
        "stopped-by-host",
        "part-failed",
    ),
    "start and connection": (
        "cannot-connect",
        "tls-misconfigured",
        "workers-never-arrived",
        "workers-pending",
        "worker-start-failed",
    ),
    "serialization and environment": (
        "graph-not-serializable",
        "graph-not-deserializable",
        "result-not-serializable",
        "dependency-not-serializable",
        "environment-mismatch",
        "module-not-shipped",
    ),
    "hangs": ("stalled", "no-valid-worker", "nested-client-deadlock"),
    "disks, files and shuffles": (
        "disk-full",
        "too-many-open-files",
        "p2p-out-of-disk",
        "p2p-failed",
        "key-collision",
    ),
}
"""Causes by kind of failure, as the table groups them; `docs/causes.md` defines each."""

HEALTHY = "succeeded"
"""The group of runs that succeed: the right answer names no cause."""

UNKNOWN = "unknown"
"""The answer of a diagnoser that does not know the cause: neither right nor wrong."""

CAUSES = frozenset(cause for causes in GROUPS.values() for cause in causes)
"""All causes."""

NOT_VISIBLE = "cause not visible"
"""The group of runs that fail of what no recording shows: `unknown` is the right answer."""

_GROUP_OF = {cause: group for group, causes in GROUPS.items() for cause in causes}


def group_of(causes: tuple[str, ...]) -> str:
    """Return the group of a case, by the first of its causes."""
    return _GROUP_OF.get(causes[0], NOT_VISIBLE) if causes else HEALTHY
