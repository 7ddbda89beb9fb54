"""Pods of Kubernetes that were evicted, and pods that never ran a worker."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.death_texts import deaths_blamed_on
from dask_blackbox.analyse.facts.units import Unit, units_of
from dask_blackbox.analyse.rule import documented
from dask_blackbox.analyse.rules import startup
from dask_blackbox.analyse.rules.job_ends import (
    evidence_of_unit,
    jobs,
    units_at,
    verdict_on_units,
)
from dask_blackbox.events import SchedulerInfo, UnitState
from dask_blackbox.finding import Evidence, Finding
from dask_blackbox.formatting import short, were
from dask_blackbox.managers.kubernetes import NOT_STARTED, UNSCHEDULED

# worker-evicted

_OF_NODE = ("EvictionByEvictionAPI", "ScaleDown")
_OF_MEMORY = "resource: memory"


@documented("worker-evicted")
def WORKER_EVICTED(case: Case) -> Iterator[Finding]:
    deaths = deaths_blamed_on(case, WORKER_EVICTED.slug)
    if not deaths:
        return
    units = units_at(case, deaths)
    state = units[-1].state if units else UnitState()
    drained, of_memory = state.state in _OF_NODE, _OF_MEMORY in state.reason
    why = short(state.reason.strip(), 200)
    if drained:
        why = f"node {state.node}".strip() + " was drained or removed"
    yield from verdict_on_units(
        case,
        WORKER_EVICTED,
        deaths,
        how=f"because {jobs(units)} {were(len(units) or 1)} evicted"
        + (f": {why}" if why else ""),
        remedy=_OF_DRAINED if drained else _of_pressure(state),
        retry_advice="memory" if of_memory and not drained else None,
    )


_OF_DRAINED = (
    "A retry helps. A node is drained for an upgrade, or by an autoscaler that removes it: "
    'annotate the pods with `cluster-autoscaler.kubernetes.io/safe-to-evict: "false"` '
    '(Karpenter: `karpenter.sh/do-not-disrupt: "true"`), or run them where nodes are not removed.'
)


def _of_pressure(state: UnitState) -> str:
    """Return what to do where a node had too little of something."""
    if _OF_MEMORY not in state.reason:
        return (
            "Give the node's pods less to write, or request what they need "
            "(`ephemeral-storage`); the tasks are not at fault, and a retry on another node helps."
        )
    requested = state.requests.get("memory")
    asked = f", not {requested}" if requested is not None else ""
    return (
        "Request the memory that a worker really uses, so that the scheduler places it where "
        f"there is that much{asked}: `resources={{'requests': {{'memory': …}}}}`, with the limit "
        "at the same value."
    )


# pod-not-started


@documented("pod-not-started")
def POD_NOT_STARTED(case: Case) -> Iterator[Finding]:
    # A cluster object waits without a limit for its scheduler, until somebody ends that.
    of_scheduler = case.failed and not case.run.of(SchedulerInfo)
    of_workers = case.failed and next(startup.WORKERS_NEVER_ARRIVED.ask(case), None)
    units = _not_started(case) if of_scheduler or of_workers else []
    if not units or not units[-1].states:
        return
    last, state = units[-1], units[-1].state
    what, remedy = _why_not_started(state)
    pods, their = "A pod", "its"
    if len(units) > 1:
        pods, their = f"{len(units)} pods", "their"
    whose = "of the cluster, whose scheduler never started,"
    if of_workers:
        whose = "of workers"
    why = f": {short(state.reason.strip(), 160)}" if state.reason else ""
    line = f" Its last line: “{short(last.lines[-1], 200)}”" if last.lines else ""
    unscheduled = state.state in UNSCHEDULED
    yield POD_NOT_STARTED.found(
        f"{pods} {whose} {what.format(their=their)}{why}",
        cause=f"Kubernetes reports pod {last.id} as {state.state}{why}.{line}",
        remedy=remedy,
        retry_advice="transient" if unscheduled else None,
        retry_confidence="low" if unscheduled else None,
        confidence="high",
        evidence=(
            *(_evidence(case, each) for each in units[-3:]),
            *case.exception_evidence(),
        ),
    )


def _evidence(case: Case, unit: Unit) -> Evidence:
    """Return what is said of a pod: it was so before the run ended, though asked for then."""
    said = evidence_of_unit(unit)
    moments = [each for each in (said.at, case.outcome.decided_at) if each is not None]
    return msgspec.structs.replace(said, at=min(moments, default=None))


def _not_started(case: Case) -> list[Unit]:
    """Return the pods that wait for something, or else those that ended before a worker joined."""
    pods = [each for each in units_of(case.run).all if each.word == "pod"]
    waiting = (*NOT_STARTED, *UNSCHEDULED)
    # The end of the run deletes pods that wait.
    waited = [each.as_it_waited() for each in pods]
    stuck = [each for each in waited if each.state.state in waiting]
    if stuck or case.deaths:
        return stuck
    of_workers = [each for each in pods if each.state.worker]
    return [x for x in of_workers if x.over and x.ending in (None, "memory")]


_PULL = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull")


def _why_not_started(state: UnitState) -> tuple[str, str]:
    """Return what became of a pod that never ran a worker, and what to do."""
    if state.state in UNSCHEDULED:
        wanted = ", ".join(f"{name} {size}" for name, size in state.requests.items())
        requested = f" (requested: {wanted})" if wanted else ""
        return "cannot be scheduled", _OF_UNSCHEDULED.format(requested=requested)
    if state.state in _PULL:
        what = "cannot start because {their} image cannot be pulled"
        return what, _OF_IMAGE.format(image=state.image)
    if state.state in NOT_STARTED:
        return "cannot be started", _OF_CONFIGURATION
    code = f" with exit code {state.exit_code}" if state.exit_code is not None else ""
    return f"ended{code} before a worker joined", _OF_COMMAND


_OF_UNSCHEDULED = (
    "Request less than a node offers{requested}, add nodes, or correct the selector, tolerations "
    "or quota that the message names. If nodes are added on demand, wait longer for workers."
)
_OF_IMAGE = (
    "Check name and tag of the image `{image}`, and that the nodes may pull it "
    "(`imagePullSecrets`)."
)
_OF_CONFIGURATION = (
    "Create what the message names (secret, config map, volume), or correct its name."
)
_OF_COMMAND = "Correct what the pod's log says: its command, the image's packages, the scheduler's address."
