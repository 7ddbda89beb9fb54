"""Asks the Kubernetes API for the pods of a run's workers, and for the events about them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from dask_blackbox.events import ManagerAsked, UnitLog, UnitState
from dask_blackbox.managers.base import LONGEST
from dask_blackbox.managers.kubernetes import KUBERNETES
from dask_blackbox.managers.kubernetes_api import (
    Access,
    KubernetesClient,
    KubernetesError,
    find_access,
)
from dask_blackbox.managers.kubernetes_objects import (
    ContainerStatus,
    Happening,
    Metadata,
    Pod,
    Terminated,
    bytes_of,
    decode_event,
    decode_listing,
    decode_pod,
    items_of,
    seconds_of,
)

_T = TypeVar("_T", Pod, Happening)

MOST_CALLS = 60
"""How many calls a run makes."""

_PAGE, _MOST_PAGES, _MOST_SINGLE = 250, 8, 20
_LONGEST_TEXT, _MOST_LINES, _MOST_LOG = 600, 20, 16_384
_RESTARTING = "CrashLoopBackOff"
_BY_KUBERNETES = (
    "Evicted", "Preempted", "Preempting", "TaintManagerEviction", "DeadlineExceeded",
    "NodeNotReady", "ScaleDown",
)  # fmt: skip
"""Reasons of events that say why a pod was ended, the most particular first."""
_CLUSTER, _RELEASE = "dask.org/cluster-name", "release"


class KubernetesAsker:
    """Asks the API what became of pods.  Used by one thread.

    A unit is a pod by its name, or all pods of a cluster by their label: `shop//release=dask`.

    Args:
        environ: Environment of the process.
        find: Finds the API; may raise `KubernetesError`.
        longest: Seconds that a call may take.
    """

    def __init__(
        self,
        environ: Mapping[str, str] = os.environ,
        find: Callable[[Mapping[str, str]], Access] = find_access,
        *,
        longest: float = LONGEST,
    ) -> None:
        self._longest = longest
        self._environ, self._find = environ, find
        self._client: KubernetesClient | None = None
        self.calls = 0
        self._refused: set[str] = set()
        self._known: dict[str, Pod] = {}
        self._said: dict[str, UnitState] = {}

    def ask(
        self, units: Iterable[str], *, within: float = LONGEST
    ) -> Iterator[ManagerAsked | UnitState]:
        """Yield how the API was asked, and what is new of the pods.

        Args:
            units: Pods and groups of pods.
            within: Seconds for all of it.
        """
        deadline = time.monotonic() + within
        client = self._connected()
        if isinstance(client, ManagerAsked):
            yield client
        if not isinstance(client, KubernetesClient):
            return
        wanted = list(dict.fromkeys(units))
        groups = {each for each in wanted if KUBERNETES.is_group(each)}
        groups |= {group for each in wanted if (group := self._group_of_pod(each))}
        answer = _Answer()
        for group in sorted(groups):
            yield from self._ask_group(client, group, answer, deadline)
        asked = groups | answer.found.keys() | answer.gone
        for name in [each for each in wanted if each not in asked][:_MOST_SINGLE]:
            yield from self._ask_pod(client, name, answer, deadline)
        yield from self._states(client, answer, deadline)

    def _ask_group(
        self, client: KubernetesClient, group: str, answer: _Answer, deadline: float
    ) -> Iterator[ManagerAsked]:
        namespace, _, selector = group.rpartition("//")
        path = f"/api/v1/namespaces/{namespace or client.access.namespace}/pods"
        reader = _Reader(decode_pod, {"labelSelector": selector})
        yield from self._listed(client, path, reader, deadline)
        answer.found |= {pod.name: pod for pod in reader.found}
        if reader.complete:
            members = {n for n in self._known if self._group_of_pod(n) == group}
            answer.gone |= members - answer.found.keys()

    def _ask_pod(
        self, client: KubernetesClient, name: str, answer: _Answer, deadline: float
    ) -> Iterator[ManagerAsked]:
        known = self._known.get(name)
        namespace = known.metadata.namespace if known else client.access.namespace
        path = f"/api/v1/namespaces/{namespace}/pods/{name}"
        reader = _Reader(decode_pod, {}, single=True)
        yield from self._listed(client, path, reader, deadline)
        answer.found |= {pod.name: pod for pod in reader.found}
        answer.gone |= {name} if reader.missing else set()

    def _connected(self) -> KubernetesClient | ManagerAsked | None:
        """Return the client, or why there is none, once."""
        if self._client is not None or "access" in self._refused:
            return self._client
        try:
            self._client = KubernetesClient(self._find(self._environ))
        except KubernetesError as error:
            self._refused.add("access")
            return _report("find the API", 0, 0.0, str(error))
        return self._client

    def _group_of_pod(self, name: str) -> str:
        pod = self._known.get(name)
        return "" if pod is None else _group_of(pod)

    def _states(
        self, client: KubernetesClient, answer: _Answer, deadline: float
    ) -> Iterator[ManagerAsked | UnitState]:
        """Yield what is new of pods, with what the events say of those that need it."""
        found, gone = answer.found, answer.gone
        lost = {name: self._known.pop(name, None) for name in gone}
        left = {n: pod or Pod(metadata=Metadata(name=n)) for n, pod in lost.items()}
        self._known |= found
        own = client.access.namespace
        odd = [pod for pod in found.values() if _is_abnormal(pod)]
        places = {p.metadata.namespace or own for p in (*odd, *left.values())}
        happenings: list[Happening] = []
        for namespace in sorted(places):
            reader = _Reader(decode_event, {})
            path = f"/api/v1/namespaces/{namespace}/events"
            yield from self._listed(client, path, reader, deadline)
            happenings += reader.found
        happenings.sort(key=lambda each: each.at)
        now = time.time()
        for name, pod in (found | left).items():
            state = state_of(pod, happenings, gone=now if name in left else None)
            if self._said.get(name) != state:
                self._said[name] = state
                yield msgspec.structs.replace(state, at=now)

    def _listed(
        self, client: KubernetesClient, path: str, reader: _Reader[Any], deadline: float
    ) -> Iterator[ManagerAsked]:
        """Read an object or a list of them, and yield how the API was asked."""
        place = path.rpartition("/")[0] if reader.single else path
        if place in self._refused:
            return
        began, more, error = time.monotonic(), "", ""
        for _ in range(_MOST_PAGES):
            left = min(self._longest, deadline - time.monotonic())
            if self.calls >= MOST_CALLS or left <= 0:
                error = "it was not asked: " + (
                    "no time was left" if left <= 0 else f"{MOST_CALLS} calls were made"
                )
                break
            self.calls += 1
            query: dict[str, str | int] = {**reader.query}
            query |= {} if reader.single else {"limit": _PAGE}
            query |= {"continue": more} if more else {}
            try:
                more = reader.read(client.get(path, within=left, **query))
            except KubernetesError as failure:
                error = str(failure)
                reader.missing = failure.missing
                if failure.refused:
                    self._refused.add(place)
                break
            except msgspec.MsgspecError as failure:
                error = f"its answer cannot be read: {failure}"
                break
            if not more:
                reader.complete = True
                break
        else:
            error = f"only the first {len(reader.found)} were read"
        kind = place.rpartition("/")[2]
        doing = f"{'get' if reader.single else 'list'} {kind}"
        if not reader.missing:
            seconds = time.monotonic() - began
            yield _report(doing, len(reader.found), seconds, error)

    def log(self, unit: str, folder: Path, state: UnitState | None) -> UnitLog:
        """Return the end of a pod's log: of its container's last run, if that was restarted.

        Args:
            unit: Its name, as `ask` has reported it.
            folder: Not used.
            state: Not used.
        """
        del folder, state
        known, client = self._known.get(unit), self._client
        path, error, lines = "", "it is not there any more", []
        if known is not None and client is not None and self.calls < MOST_CALLS:
            self.calls += 1
            path = f"/api/v1/namespaces/{known.metadata.namespace}/pods/{unit}/log"
            query: dict[str, str | int] = {
                "container": known.container().name,
                "tailLines": _MOST_LINES,
                "limitBytes": _MOST_LOG,
            }
            status = _status_of(known)
            if status and status.restart_count and status.state.terminated is None:
                query["previous"] = "true"
            try:
                answer, error = client.get(path, within=self._longest, **query), ""
                lines = answer.decode("utf-8", "replace").splitlines()[-_MOST_LINES:]
            except KubernetesError as failure:
                error = str(failure)
        return UnitLog(
            at=time.time(),
            subject=unit,
            manager=KUBERNETES.name,
            path=path,
            lines=tuple(line[:_LONGEST_TEXT] for line in lines),
            error=error,
        )


def _report(doing: str, units: int, seconds: float, error: str) -> ManagerAsked:
    return ManagerAsked(
        at=time.time(),
        manager=KUBERNETES.name,
        command=doing,
        units=units,
        seconds=round(seconds, 3),
        error=error,
    )


@dataclass
class _Answer:
    """The pods that were found, and the names of those that are not there."""

    found: dict[str, Pod] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)


class _Reader(Generic[_T]):
    """What a question to the API has brought.

    Attributes:
        query: Its parameters.
        single: Whether it is for one object.
        found: The objects.
        complete: Whether these are all.
        missing: Whether the API says that there is no such object.
    """

    def __init__(
        self,
        decode: Callable[[bytes], _T],
        query: dict[str, str | int],
        *,
        single: bool = False,
    ) -> None:
        self._decode: Callable[[bytes], _T] = decode
        self.query, self.single = query, single
        self.found: list[_T] = []
        self.complete = self.missing = False

    def read(self, answer: bytes) -> str:
        """Read a page, and return where the list goes on."""
        if self.single:
            self.found.append(self._decode(answer))
            return ""
        listing = decode_listing(answer)
        self.found += items_of(listing, self._decode)
        return listing.metadata.next


def _group_of(pod: Pod) -> str:
    """Return what stands for all pods of a pod's cluster; empty: nothing says which these are."""
    labels, namespace = pod.label, pod.metadata.namespace
    if cluster := labels.get(_CLUSTER):
        return f"{namespace}//{_CLUSTER}={cluster}"
    if labels.get("app") == "dask" and labels.get(_RELEASE):  # Dask's Helm chart
        return f"{namespace}//{_RELEASE}={labels[_RELEASE]}"
    return ""


# What became of a pod


def _status_of(pod: Pod) -> ContainerStatus | None:
    """Return the state of the container that says most: one that failed, or Dask's."""
    statuses = pod.status.container_statuses or []
    for each in pod.status.init_container_statuses or ():
        if _end_of(each) is not None and _failed(_end_of(each)):
            return each
        if (
            each.state.waiting is not None
            and each.state.waiting.reason not in _STARTING
        ):
            return each
    name = pod.container().name
    own = [each for each in statuses if each.name == name]
    return next(iter(own or statuses), None)


_STARTING = ("", "PodInitializing", "ContainerCreating")
"""Why a container waits while nothing is wrong."""


def _end_of(status: ContainerStatus | None) -> Terminated | None:
    if status is None:
        return None
    return status.state.terminated or status.last_state.terminated


def _failed(end: Terminated | None) -> bool:
    return end is not None and (bool(end.exit_code) or end.reason == "OOMKilled")


def _is_abnormal(pod: Pod) -> bool:
    """Return whether events may say more of a pod than it does itself."""
    if pod.metadata.deletion_timestamp is not None:
        return True
    if pod.status.phase not in ("Running", "Succeeded"):
        return True
    return _failed(_end_of(_status_of(pod)))


def state_of(
    pod: Pod, events: Iterable[Happening], *, gone: float | None = None
) -> UnitState:
    """Return what became of a pod, in the words of Kubernetes.

    Args:
        pod: As the API showed it last.
        events: Of its namespace, in the order of time.
        gone: When it was seen to be there no more, epoch seconds; None: it is there.
    """
    status, spec = _status_of(pod), pod.container()
    end = _end_of(status)
    state, reason = _state(pod, _events_about(pod, events), gone=gone is not None)
    by_itself = end is not None and state in (end.reason, _RESTARTING, "Error")
    limits, requests = spec.resources.limits or {}, spec.resources.requests or {}
    return UnitState(
        manager=KUBERNETES.name,
        subject=pod.name,
        state=state,
        reason=reason[:_LONGEST_TEXT],
        node=pod.spec.node_name,
        worker=pod.worker,
        address=pod.status.pod_ip,
        image=spec.image,
        requested=seconds_of(pod.metadata.creation_timestamp),
        started=seconds_of(pod.status.start_time),
        ended=seconds_of(end.finished_at) if end else _deleted(pod) or gone,
        time_limit=pod.spec.active_deadline_seconds,
        memory_limit=bytes_of(limits.get("memory", "")),
        requests={name: str(amount) for name, amount in requests.items()},
        exit_code=end.exit_code if end and by_itself else None,
        signal=_signal(end) if by_itself else None,
        restarts=0 if status is None else status.restart_count,
    )


def _events_about(pod: Pod, events: Iterable[Happening]) -> list[Happening]:
    owners = {each.name for each in pod.metadata.owner_references or ()}
    return [each for each in events if _is_about(each, pod, owners)]


def _deleted(pod: Pod) -> float | None:
    """Return when the deletion of a pod was ordered, epoch seconds."""
    until = seconds_of(pod.metadata.deletion_timestamp)
    return until and until - (pod.metadata.deletion_grace_period_seconds or 0)


def _is_about(event: Happening, pod: Pod, owners: set[str]) -> bool:
    """Return whether an event is about a pod, not an earlier one of its name, or about its job."""
    about, uid = event.involved_object, pod.metadata.uid
    if about.kind == "Job":
        return about.name in owners
    same = not (uid and about.uid) or about.uid == uid
    return about.kind == "Pod" and about.name == pod.name and same


_SIGNALS = 128
_SIGNALLED = range(_SIGNALS + 1, _SIGNALS + 65)


def _signal(end: Terminated | None) -> int | None:
    """Return the signal that ended a container: runtimes say it as 128 and the number."""
    if end is None:
        return None
    code = end.exit_code or 0
    return end.signal or (code - _SIGNALS if code in _SIGNALLED else None)


def _state(pod: Pod, events: list[Happening], *, gone: bool) -> tuple[str, str]:
    """Return the word for a pod's state, and the sentence about it."""
    return (
        _ended_by_kubernetes(pod, events)
        or _ended_itself(pod)
        or (_gone(pod, events) if gone or pod.metadata.deletion_timestamp else None)
        or _waits(pod, events)
        or (pod.status.phase, "")
    )


def _ended_by_kubernetes(pod: Pod, events: list[Happening]) -> tuple[str, str] | None:
    status = pod.status
    if status.reason and status.phase == "Failed":
        return status.reason, status.message
    for each in status.conditions or ():
        if each.type == "DisruptionTarget" and each.status == "True" and each.reason:
            return each.reason, each.message
    for reason in _BY_KUBERNETES:
        if text := _last(events, reason):
            return reason, text
    return None


def _ended_itself(pod: Pod) -> tuple[str, str] | None:
    """Return how the container of a pod ended, now or before its last restart."""
    status = _status_of(pod)
    end = _end_of(status)
    if status is None or end is None:
        return None
    if _failed(end):
        return end.reason or "Error", end.message
    if status.state.terminated is not None:
        return end.reason or "Completed", end.message
    return (_RESTARTING, "") if status.restart_count and _waiting(status) else None


def _gone(pod: Pod, events: list[Happening]) -> tuple[str, str]:
    """Return that a pod is not there; one that was never seen may have another name."""
    seen = bool(pod.status.phase)
    return "Deleted" if seen else "NotFound", _last(events, "Killing")


def _waiting(status: ContainerStatus | None) -> str:
    return status.state.waiting.reason if status and status.state.waiting else ""


def _waits(pod: Pod, events: list[Happening]) -> tuple[str, str] | None:
    """Return why a pod does not run yet."""
    if pod.status.phase != "Pending":
        return None
    for each in pod.status.conditions or ():
        if each.type == "PodScheduled" and each.status == "False":
            return each.reason or "Unschedulable", each.message or _last(
                events, "FailedScheduling"
            )
    status = _status_of(pod)
    waiting = status.state.waiting if status else None
    if waiting is not None and waiting.reason not in _STARTING:
        return waiting.reason, waiting.message or _last(events, "Failed")
    warnings = [e for e in events if e.type == "Warning"]
    if warnings:  # a volume, a network, a secret
        return warnings[-1].reason, warnings[-1].message
    return None


def _last(events: list[Happening], reason: str) -> str:
    """Return the message of the last event with a reason; empty: there is none."""
    return next((e.message for e in reversed(events) if e.reason == reason), "")
