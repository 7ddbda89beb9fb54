"""Verdicts on pods: what the API of Kubernetes says of them outranks what their processes saw."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from dask_blackbox.events import encoded
from dask_blackbox.finding import Finding
from dask_blackbox.managers.kubernetes_asking import state_of
from dask_blackbox.managers.kubernetes_objects import Happening, Pod, Reference
from kubernetes_api import a_container, a_pod, terminated
from runs_from_rows import (
    START,
    Piece,
    a_departure,
    a_graph,
    a_worker,
    an_event,
    an_exception,
    failed_with,
    killed_worker,
    raised_in,
    the_verdict_on,
)

WORKER = "shop-default-worker-1a2b3c4d5e"
POD = a_pod()["metadata"]["name"]
CLUSTER = {"kind": "KubeCluster", "units": {"shop": "shop//dask.org/cluster-name=shop"}}
ATTACHED = an_event(
    "driver-attached", "driver", at=0.1, pid=1, client="Client-1", cluster=CLUSTER
)
ASKED = an_event("manager-asked", "", at=14, manager="Kubernetes", command="list pods")


def said(pod: dict[str, Any], *events: Happening, gone: float | None = None) -> Piece:
    """Return what the recorder notes of a pod as the API shows it."""
    left = None if gone is None else START + gone
    state = state_of(msgspec.convert(pod, Pod), events, gone=left)
    return "event", encoded(msgspec.structs.replace(state, at=START + 14))


def lost(*more: Piece, name: str = WORKER, address: str = "tcp://w1") -> Finding:
    """Return the verdict on a run whose worker disappeared with its nanny."""
    return the_verdict_on(
        ATTACHED,
        a_worker(address, name=name),
        a_graph(),
        a_departure(address, processing=["boom-1"]),
        an_event("nanny-lost", address, at=13, pid=100),
        raised_in("boom-1", killed_worker("boom-1"), at=14, worker=address),
        *more,
    )


def ended(reason: str, code: int, at: float = 10.0) -> dict[str, Any]:
    """Return how a container ended, at a moment of the run."""
    moment = datetime.fromtimestamp(START + at, UTC).isoformat()
    return terminated(reason, code, finishedAt=moment)


def event(reason: str, message: str) -> Happening:
    """Return an event about the pod."""
    about = Reference(kind="Pod", name=POD)
    return Happening(involved_object=about, reason=reason, message=message)


def disrupted(reason: str) -> dict[str, Any]:
    """Return a pod that Kubernetes ends."""
    return a_pod(
        conditions=[{"type": "DisruptionTarget", "status": "True", "reason": reason}]
    )


KILLED = a_pod(
    containerStatuses=[
        a_container(
            restarts=1, state={"running": {}}, lastState=ended("OOMKilled", 137)
        )
    ]
)
LOW = (
    "The node was low on resource: memory. Threshold quantity: 100Mi, available: 60Mi. "
    "Container worker was using 3Gi, request is 1Gi, has larger consumption of memory."
)
ENDINGS: dict[str, tuple[Piece, str, str, tuple[str, ...]]] = {
    "killed for memory": (
        said(KILLED), "worker-job-memory", "memory",
        (POD, "was killed at its memory limit of 2 GiB", "The limit is that of the container"),
    ),
    "low on memory": (
        said(a_pod(phase="Failed", reason="Evicted", message=LOW)),
        "worker-evicted", "memory", ("was evicted: The node was low on resource: memory",),
    ),
    "drained": (
        said(disrupted("EvictionByEvictionAPI")), "worker-evicted", "transient",
        ("node ip-10-0-0-7 was drained or removed",),
    ),
    "preempted": (
        said(disrupted("PreemptionByScheduler")), "worker-preempted", "transient",
        ("by Kubernetes",),
    ),
    "preempted, by an event": (
        said(a_pod(), event("Preempted", "Preempted by pod 0b6c"), gone=11.0),
        "worker-preempted", "transient", ("by Kubernetes", "Preempted by pod 0b6c"),
    ),
    "node lost": (
        said(disrupted("DeletionByTaintManager")), "worker-node-failed", "transient",
        ("ip-10-0-0-7", "kubectl cordon"),
    ),
    "deadline": (
        said(a_pod(phase="Failed", reason="DeadlineExceeded", message="active too long")),
        "worker-time-limit", "environment", ("activeDeadlineSeconds",),
    ),
    "deleted": (
        said(a_pod(), gone=11.0), "worker-cancelled", "unknown", ("was deleted",),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ENDINGS)
def test_what_kubernetes_says_of_a_pod_is_the_verdict(case: str) -> None:
    piece, rule, advice, texts = ENDINGS[case]

    found = lost(ASKED, piece)

    assert (found.rule, found.retry_advice) == (rule, advice)
    everything = " ".join(
        (found.title, found.cause, found.remedy, *(e.text for e in found.evidence))
    )
    for text in texts:
        assert text in everything
    assert f"pod {POD}" in everything
    assert "job" not in found.title + found.cause


@pytest.mark.parametrize(
    ("error", "because"),
    [
        (None, "Kubernetes was not asked"),
        ("HTTP 403: pods is forbidden", "HTTP 403: pods is forbidden"),
    ],
)
def test_without_an_answer_nothing_is_proved(error: str | None, because: str) -> None:
    refused = an_event("manager-asked", "", at=14, manager="Kubernetes", error=error)

    found = lost(*([refused] if error else []))

    assert (found.rule, found.confidence) == ("worker-host-lost", "medium")
    assert f"why is unknown, because {because}" in found.cause


def test_the_end_of_an_earlier_run_of_the_container_explains_no_later_death() -> None:
    before = a_pod(
        containerStatuses=[
            a_container(
                restarts=1,
                state={"running": {}},
                lastState=ended("OOMKilled", 137, at=-400.0),
            )
        ]
    )

    assert lost(ASKED, said(before)).rule == "worker-host-lost"


def test_the_pod_that_replaces_another_one_is_not_taken_for_it() -> None:
    drained = said(disrupted("EvictionByEvictionAPI"))
    successor = said(a_pod(f"{WORKER}-5d9c7bf4c8-zzzzz"))

    found = lost(ASKED, drained, successor)

    assert found.rule == "worker-evicted"
    assert POD in found.title


def test_the_deletion_at_the_end_explains_no_earlier_death() -> None:
    assert lost(ASKED, said(a_pod(), gone=40.0)).rule == "worker-host-lost"


@pytest.mark.parametrize("by", ["address", "variable"])
def test_a_pod_without_a_workers_name_is_found(by: str) -> None:
    pod = a_pod(containerStatuses=KILLED["status"]["containerStatuses"])
    pod["spec"]["containers"][1]["env"] = []
    address = "tcp://10.0.3.4:41233" if by == "address" else "tcp://10.9.9.9:1"
    named = an_event("process-ancestors", address, units={"KUBERNETES_POD": POD})

    found = lost(
        ASKED,
        said(pod),
        *([named] if by == "variable" else []),
        name="0",
        address=address,
    )

    assert found.rule == "worker-job-memory"


WAITED = an_exception("TimeoutError", "Only 0/2 workers arrived after 20")
FULL = "0/3 nodes are available: 3 Insufficient memory."
STUCK: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "cannot be scheduled": (
        {"conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": FULL}
        ]},
        (f"cannot be scheduled: {FULL}", "requested: cpu 500m, memory 1Gi"),
    ),
    "image": (
        {"containerStatuses": [
            a_container(state={"waiting": {"reason": "ImagePullBackOff", "message": "not found"}})
        ]},
        ("image cannot be pulled", "`registry.example.com/nightly:7`"),
    ),
    "secret": (
        {"containerStatuses": [
            a_container(state={"waiting": {"reason": "CreateContainerConfigError",
                                           "message": 'secret "db" not found'}})
        ]},
        ("cannot be started", 'secret "db" not found'),
    ),
    "command": (
        {"phase": "Running", "containerStatuses": [
            a_container(restarts=4, lastState=ended("Error", 2),
                        state={"waiting": {"reason": "CrashLoopBackOff"}})
        ]},
        ("ended with exit code 2 before a worker joined", "“No such command: worke”"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", STUCK)
def test_why_pods_did_not_start_is_the_verdict(case: str) -> None:
    status, texts = STUCK[case]
    log = an_event("unit-log", POD, at=15, lines=["Usage", "No such command: worke"])

    found = the_verdict_on(
        ATTACHED,
        ASKED,
        said(a_pod(**{"phase": "Pending"} | status)),
        log,
        failed_with(WAITED),
    )

    assert (found.rule, found.confidence) == ("pod-not-started", "high")
    for text in texts:
        assert text in f"{found.title} {found.cause} {found.remedy}"


@pytest.mark.parametrize("deleted", [False, True])
@pytest.mark.parametrize("raised", ["KeyboardInterrupt", "TimeoutError"])
def test_why_the_scheduler_of_a_cluster_object_did_not_start_is_the_verdict(
    raised: str, *, deleted: bool
) -> None:
    """Its driver waits without a client, until somebody interrupts it and that ends the pod."""
    status, _ = STUCK["image"]
    pod = a_pod("shop-scheduler-5d9c7bf4c8-x2x2x", **{"phase": "Pending"} | status)
    named = an_event(
        "units-named", at=1.0, cluster="KubeCluster", units={"shop": "dask//x=shop"}
    )
    after = (said(pod, gone=13.0),) if deleted else ()
    found = the_verdict_on(
        named, ASKED, said(pod), *after, failed_with(an_exception(raised, ""), at=12.0)
    )

    assert (found.rule, found.confidence) == ("pod-not-started", "high")
    assert "whose scheduler never started, cannot start because" in found.title
    assert "shop-scheduler-5d9c7bf4c8-x2x2x" in found.cause


def test_pods_that_run_do_not_explain_why_workers_did_not_arrive() -> None:
    found = the_verdict_on(ATTACHED, ASKED, said(a_pod()), failed_with(WAITED))

    assert found.rule == "workers-never-arrived"
