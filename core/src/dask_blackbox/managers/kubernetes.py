"""Kubernetes: its pods, of which `kubernetes_asking` asks the API."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dask_blackbox.events import UnitState
from dask_blackbox.managers.base import Question

UNSCHEDULED = ("Unschedulable", "FailedScheduling", "SchedulingGated")
"""States of a pod that no node can take."""
WAITING = frozenset(
    (
        "", "Pending", "Running", "ContainerCreating", "PodInitializing", "Unknown", "NotFound",
        *UNSCHEDULED,
    )
)  # fmt: skip
"""States of a pod that has not ended."""
NOT_STARTED = frozenset(
    (
        "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull",
        "ImageInspectError", "RegistryUnavailable", "CreateContainerConfigError",
        "CreateContainerError", "FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox",
        "NetworkNotReady",
    )
)  # fmt: skip
"""States of a pod whose container cannot be started, which is tried again and again."""


@dataclass(frozen=True)
class Kubernetes:
    """The manager of pods; a unit is one pod, or all pods with a label (`namespace//label=value`).

    Attributes:
        name: As in `Manager`.
        kind: As in `Manager`.
        fact: As in `Manager`.
        unit: As in `Manager`.
        clusters: As in `Manager`.
        variable: As in `Manager`.
        questions: None: it is asked over HTTP.
        pending: As in `Manager`.
        limit: As in `Manager`.
        cancel: As in `Manager`.
        tell: As in `Manager`.
        asked: As in `Manager`.
    """

    name: str = "Kubernetes"
    kind: str = "kubernetes"
    fact: str = "pod"
    unit: str = "pod"
    clusters: tuple[str, ...] = ("KubeCluster", "HelmCluster")
    variable: str = "KUBERNETES_POD"
    questions: tuple[Question, ...] = ()
    pending: tuple[str, ...] = ("Pending", *UNSCHEDULED, *sorted(NOT_STARTED))
    limit: str = "activeDeadlineSeconds"
    cancel: str = "kubectl delete"
    tell: str = "kubectl describe pod"
    asked: bool = True

    def id_of(self, text: str) -> str:
        """Return the id: it is what the variable says."""
        return text

    def is_over(self, state: str) -> bool:
        """Return whether a pod, or its container before the last restart, has ended."""
        return state not in WAITING and state not in NOT_STARTED

    def is_ending(self, state: str) -> bool:
        """Return that it is not known: what ends a pod is known when it has ended."""
        del state
        return False

    def is_group(self, unit: str) -> bool:
        """Return whether a unit stands for all pods with a label."""
        return "=" in unit

    def logs(self, unit: str, folder: Path, state: UnitState | None) -> list[Path]:
        """Return no file: the API has them."""
        del unit, folder, state
        return []


KUBERNETES = Kubernetes()
