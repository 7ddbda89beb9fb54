"""What a Kubernetes API says of pods, asked over HTTP: a real client and a real server."""

from __future__ import annotations

import asyncio
import base64
import json
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from dask_blackbox.capture.driver.driver_environment import facts_of_cluster
from dask_blackbox.capture.driver.ordered_ends import OrderedEnds
from dask_blackbox.capture.driver.patches import Patches
from dask_blackbox.capture.process import named_units
from dask_blackbox.events import Event, ManagerAsked, UnitState, Unrecognised, decoded
from dask_blackbox.managers.kubernetes_api import (
    KubernetesClient,
    KubernetesError,
    find_access,
)
from dask_blackbox.managers.kubernetes_asking import KubernetesAsker
from dask_blackbox.managers.kubernetes_objects import bytes_of
from dask_blackbox.recorder import units as unit_watch
from dask_blackbox.recorder.units import UnitWatch
from distributed.deploy.cluster import Cluster
from kubernetes_api import (
    NAMESPACE,
    KubernetesApi,
    a_container,
    a_pod,
    kubernetes_api,
    terminated,
)

GROUP = f"{NAMESPACE}//dask.org/cluster-name=shop"
POD = a_pod()["metadata"]["name"]


_PATIENCE = 60.0
"""Seconds that a busy machine may take to answer itself."""


@pytest.fixture
def api() -> Iterator[KubernetesApi]:
    with kubernetes_api() as served:
        yield served


@pytest.fixture
def asker(api: KubernetesApi, tmp_path: Path) -> KubernetesAsker:
    return KubernetesAsker(api.configured(tmp_path, token="secret"), longest=_PATIENCE)


def states(asker: KubernetesAsker, *units: str) -> dict[str, UnitState]:
    """Return what is new of pods."""
    said = [
        each
        for each in asker.ask(units or (GROUP,), within=_PATIENCE)
        if isinstance(each, UnitState)
    ]
    return {each.subject: each for each in said}


def errors(asker: KubernetesAsker, *units: str) -> list[str]:
    """Return why the API said nothing."""
    asked = asker.ask(units or (GROUP,), within=_PATIENCE)
    return [e.error for e in asked if isinstance(e, ManagerAsked) and e.error]


def test_a_running_pod_is_told_in_full(
    api: KubernetesApi, asker: KubernetesAsker
) -> None:
    api.add(a_pod(containerStatuses=[a_container(state={"running": {}})]))

    state = states(asker)[POD]

    assert (state.manager, state.state, state.reason) == ("Kubernetes", "Running", "")
    assert (state.node, state.address) == ("ip-10-0-0-7", "10.0.3.4")
    assert state.worker == "shop-default-worker-1a2b3c4d5e"
    assert state.image == "registry.example.com/nightly:7"
    assert state.memory_limit == 2 * 2**30
    assert state.requests == {"cpu": "500m", "memory": "1Gi"}
    assert state.started == state.requested + 1  # type: ignore[operator]
    assert [path for path, _, _ in api.asked] == [
        f"/api/v1/namespaces/{NAMESPACE}/pods"
    ]
    assert api.asked[0][2] == "Bearer secret"


def test_nothing_is_said_twice(api: KubernetesApi, asker: KubernetesAsker) -> None:
    api.add(a_pod())

    assert list(states(asker)) == [POD]
    assert states(asker) == {}


DISRUPTED = {"type": "DisruptionTarget", "status": "True", "message": "why it was"}
_OOM = [
    a_container(
        restarts=1, state={"running": {}}, lastState=terminated("OOMKilled", 137)
    )
]

STATUSES: dict[str, tuple[dict[str, Any], tuple[object, ...]]] = {
    "killed for memory, and started again": (
        {"containerStatuses": _OOM},
        ("OOMKilled", "", 137, 9),
    ),
    "killed for memory": (
        {"phase": "Failed", "containerStatuses": [a_container(state=terminated("OOMKilled", 137))]},
        ("OOMKilled", "", 137, 9),
    ),
    "its command failed": (
        {"containerStatuses": [
            a_container(restarts=3, lastState=terminated("Error", 2),
                        state={"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}})
        ]},
        ("Error", "", 2, None),
    ),
    "a signal": (
        {"containerStatuses": [a_container(state=terminated("Error", 139))]},
        ("Error", "", 139, 11),
    ),
    "evicted": (
        {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."},
        ("Evicted", "The node was low on resource: memory.", None, None),
    ),
    "at its deadline": (
        {"phase": "Failed", "reason": "DeadlineExceeded", "message": "Pod was active too long"},
        ("DeadlineExceeded", "Pod was active too long", None, None),
    ),
    "drained": (
        {"conditions": [{**DISRUPTED, "reason": "EvictionByEvictionAPI"}]},
        ("EvictionByEvictionAPI", "why it was", None, None),
    ),
    "preempted": (
        {"conditions": [{**DISRUPTED, "reason": "PreemptionByScheduler"}]},
        ("PreemptionByScheduler", "why it was", None, None),
    ),
    "cannot be scheduled": (
        {"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
             "message": "0/3 nodes are available: 3 Insufficient memory."}
        ]},
        ("Unschedulable", "0/3 nodes are available: 3 Insufficient memory.", None, None),
    ),
    "image cannot be pulled": (
        {"phase": "Pending", "containerStatuses": [
            a_container(state={"waiting": {"reason": "ImagePullBackOff", "message": "Back-off"}})
        ]},
        ("ImagePullBackOff", "Back-off", None, None),
    ),
    "a container before it fails": (
        {"phase": "Pending", "initContainerStatuses": [
            a_container("copy", state=terminated("Error", 1, message="no such bucket"))
        ]},
        ("Error", "no such bucket", 1, None),
    ),
    "is being started": (
        {"phase": "Pending", "containerStatuses": [
            a_container(state={"waiting": {"reason": "ContainerCreating"}})
        ]},
        ("Pending", "", None, None),
    ),
    "null in place of what is empty": (
        {"conditions": None, "containerStatuses": None, "initContainerStatuses": None},
        ("Running", "", None, None),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", STATUSES)
def test_the_state_of_a_pod(
    api: KubernetesApi, asker: KubernetesAsker, case: str
) -> None:
    status, expected = STATUSES[case]
    api.add(a_pod(**status))

    state = states(asker)[POD]

    assert (state.state, state.reason, state.exit_code, state.signal) == expected
    if state.state == "OOMKilled":
        assert state.ended == state.requested + 30  # type: ignore[operator]


class TestEvents:
    def test_they_say_why_a_pod_that_is_gone_was_ended(
        self, api: KubernetesApi, asker: KubernetesAsker
    ) -> None:
        api.add(a_pod())
        states(asker)
        api.pods.clear()
        api.event(POD, "Preempted", "Preempted by pod 0b6c on node ip-10-0-0-7")

        state = states(asker)[POD]

        assert state.state == "Preempted"
        assert state.reason == "Preempted by pod 0b6c on node ip-10-0-0-7"
        assert state.node == "ip-10-0-0-7"  # known from before

    def test_a_pod_that_is_gone_without_a_reason_was_deleted(
        self, api: KubernetesApi, asker: KubernetesAsker
    ) -> None:
        api.add(a_pod())
        states(asker)
        api.pods.clear()

        assert states(asker)[POD].state == "Deleted"

    def test_those_of_an_earlier_pod_of_the_name_do_not_count(
        self, api: KubernetesApi, asker: KubernetesAsker
    ) -> None:
        api.add(a_pod(phase="Pending"))
        api.event(POD, "Preempted", "long ago", about={"uid": "another"})

        assert states(asker)[POD].state == "Pending"

    def test_the_deadline_of_the_job_that_a_pod_belongs_to(
        self, api: KubernetesApi, asker: KubernetesAsker
    ) -> None:
        pod = a_pod("nightly-x7k2p")
        pod["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "nightly"}]
        pod["metadata"]["deletionTimestamp"] = "2026-11-29T11:00:00Z"
        api.add(pod)
        about = {"kind": "Job", "name": "nightly"}
        text = "Job was active longer than specified deadline"
        api.event("nightly", "DeadlineExceeded", text, about=about)

        state = states(asker)["nightly-x7k2p"]

        assert (state.state, state.reason) == ("DeadlineExceeded", text)

    def test_a_volume_that_cannot_be_mounted(
        self, api: KubernetesApi, asker: KubernetesAsker
    ) -> None:
        api.add(a_pod(phase="Pending"))
        api.event(POD, "FailedMount", 'secret "token" not found')

        assert states(asker)[POD].reason == 'secret "token" not found'

    def test_they_are_not_read_while_all_runs(
        self, api: KubernetesApi, asker: KubernetesAsker
    ) -> None:
        api.add(a_pod())
        states(asker)

        assert not [path for path, _, _ in api.asked if path.endswith("events")]


class TestWithoutPermission:
    def test_to_read_pods_it_says_so_once_and_asks_no_more(
        self, api: KubernetesApi, asker: KubernetesAsker
    ) -> None:
        api.refused.add("pods")

        (error,) = errors(asker)
        assert error.startswith("HTTP 403: pods is forbidden: User")
        assert errors(asker) == []
        assert len(api.asked) == 1

    def test_to_read_events_pods_still_say_what_they_know(
        self, api: KubernetesApi, asker: KubernetesAsker
    ) -> None:
        api.refused.add("events")
        api.add(a_pod(phase="Failed", reason="Evicted", message="low on memory"))

        assert states(asker)[POD].reason == "low on memory"

    def test_to_read_logs(self, api: KubernetesApi, asker: KubernetesAsker) -> None:
        api.add(a_pod())
        api.refused.add("log")
        states(asker)

        assert "forbidden" in asker.log(POD, Path(), None).error


class TestASinglePod:
    def test_it_is_asked_for_by_its_name(
        self, api: KubernetesApi, asker: KubernetesAsker
    ) -> None:
        pod = a_pod()
        del pod["metadata"]["labels"]
        api.add(pod)

        assert states(asker, POD)[POD].state == "Running"
        assert api.asked[0][0].endswith(f"/pods/{POD}")

    def test_one_that_was_never_seen_may_have_another_name(
        self, api: KubernetesApi, asker: KubernetesAsker
    ) -> None:
        assert states(asker, "ip-10-0-0-7")["ip-10-0-0-7"].state == "NotFound"

    def test_one_that_was_seen_was_deleted(
        self, api: KubernetesApi, asker: KubernetesAsker
    ) -> None:
        pod = a_pod("nightly-worker-0")
        del pod["metadata"]["labels"]
        api.add(pod)
        states(asker, "nightly-worker-0")
        api.pods.clear()

        assert states(asker, "nightly-worker-0")["nightly-worker-0"].state == "Deleted"

    def test_its_cluster_is_known_from_then_on(
        self, api: KubernetesApi, asker: KubernetesAsker
    ) -> None:
        api.add(a_pod())
        other = "shop-default-worker-ffff-5d9c7bf4c8-aaaaa"
        api.add(a_pod(other, phase="Pending"))
        states(asker, POD)

        assert states(asker, POD)[other].state == "Pending"


def test_pages_are_read_to_the_end(api: KubernetesApi, asker: KubernetesAsker) -> None:
    api.page = 3
    for number in range(8):
        api.add(a_pod(f"shop-default-worker-{number}-x"))

    assert len(states(asker)) == 8


def test_a_list_that_is_too_long_is_no_reason_to_say_that_the_others_are_gone(
    api: KubernetesApi, asker: KubernetesAsker
) -> None:
    api.page = 1
    for number in range(12):
        api.add(a_pod(f"shop-default-worker-{number}-x"))

    assert errors(asker) == ["only the first 8 were read"]
    assert {each.state for each in states(asker).values()} <= {"Running"}


def test_objects_that_cannot_be_read_are_left_out(
    api: KubernetesApi, asker: KubernetesAsker
) -> None:
    api.add(a_pod())
    api.pods["odd"] = {"metadata": {"name": 7, "labels": a_pod()["metadata"]["labels"]}}

    assert list(states(asker)) == [POD]


def test_an_api_that_does_not_answer_is_waited_for_in_bounded_time(
    api: KubernetesApi, asker: KubernetesAsker
) -> None:
    api.answers.clear()
    began = time.thread_time()

    asked = list(asker.ask((GROUP,), within=0.2))

    assert [each.error for each in asked if isinstance(each, ManagerAsked)] == [
        "it did not answer in time"
    ]
    assert time.thread_time() - began < 1.0


def test_the_log_of_a_container_that_was_restarted_is_that_of_its_last_run(
    api: KubernetesApi, asker: KubernetesAsker
) -> None:
    api.add(a_pod(containerStatuses=_OOM))
    api.logs[POD] = "Starting\nModuleNotFoundError: No module named 'shop'\n"
    states(asker)

    log = asker.log(POD, Path(), None)

    assert log.lines[-1] == "ModuleNotFoundError: No module named 'shop'"
    assert api.asked[-1][1]["previous"] == "true"
    assert api.asked[-1][1]["container"] == "worker"


class TestAccess:
    def test_in_a_pod_it_is_the_service_accounts(self, tmp_path: Path) -> None:
        for name, text in {"token": "t\n", "namespace": "etl\n", "ca.crt": ""}.items():
            (tmp_path / name).write_text(text, "utf-8")
        environ = {
            "KUBERNETES_SERVICE_HOST": "fd00::1",
            "KUBERNETES_SERVICE_PORT": "6443",
        }

        access = find_access(environ, service_account=tmp_path)

        assert (access.server, access.namespace) == ("https://[fd00::1]:6443", "etl")

    def test_elsewhere_it_is_that_of_the_kubeconfig(
        self, api: KubernetesApi, tmp_path: Path
    ) -> None:
        access = find_access(api.configured(tmp_path), service_account=tmp_path / "no")

        assert (access.server, access.namespace) == (api.url, NAMESPACE)

    @pytest.mark.parametrize(
        "text", ["{", "[]", "current-context: gone", "contexts: 7", "contexts: [{}]"]
    )
    def test_a_kubeconfig_that_is_none_is_one_error(
        self, text: str, tmp_path: Path
    ) -> None:
        (tmp_path / "config").write_text(text, "utf-8")

        with pytest.raises(KubernetesError, match="kubeconfig"):
            find_access({"KUBECONFIG": str(tmp_path / "config")})

    def test_without_any_it_says_so_once(self, tmp_path: Path) -> None:
        asker = KubernetesAsker({"KUBECONFIG": str(tmp_path / "none")})

        assert errors(asker) == ["not in a pod, and there is no kubeconfig"]
        assert errors(asker) == []

    def test_a_program_issues_the_token(
        self, api: KubernetesApi, tmp_path: Path
    ) -> None:
        said = '{"status": {"token": "issued"}}'
        command = {"command": sys.executable, "args": ["-c", f"print({said!r})"]}
        environ = api.configured(tmp_path, exec=command)
        api.add(a_pod())

        assert states(KubernetesAsker(environ))
        assert api.asked[0][2] == "Bearer issued"

    def test_a_program_that_fails_is_one_error(
        self, api: KubernetesApi, tmp_path: Path
    ) -> None:
        environ = api.configured(tmp_path, exec={"command": "no-such-program"})

        assert errors(KubernetesAsker(environ)) == [
            "`no-such-program` issued no credentials: FileNotFoundError"
        ]
        assert api.asked == []

    def test_a_certificate_of_the_kubeconfig_is_used(
        self, api: KubernetesApi, tmp_path: Path
    ) -> None:
        bad = base64.b64encode(b"no certificate").decode()
        user: Mapping[str, Any] = {
            "client-certificate-data": bad,
            "client-key-data": bad,
        }
        client = KubernetesClient(find_access(api.configured(tmp_path, **user)))

        with pytest.raises(KubernetesError, match=r"SSL|PEM"):
            client.get("/api", within=1.0)


@pytest.mark.parametrize(
    ("quantity", "number"),
    [
        ("128974848", 128974848),
        ("129e6", 129_000_000),
        ("129M", 129_000_000),
        ("128974848000m", 128974848),
        ("123Mi", 123 * 2**20),
        ("1.5Gi", 3 * 2**29),
        ("64Ki", 65536),
        (1024, 1024),
        ("", None),
        ("much", None),
    ],
)
def test_quantities_of_memory(quantity: object, number: int | None) -> None:
    assert bytes_of(quantity) == number


# The recorder: when it asks, and for which pods

CLUSTER = {"kind": "KubeCluster", "units": {"shop": GROUP}}
ATTACHED = ("driver-attached", "driver", {"cluster": CLUSTER})
WORKER = "shop-default-worker-1a2b3c4d5e"
ADDED = ("worker-added", "tcp://w1", {"name": WORKER})
IN_POD = ("process-ancestors", "tcp://w1", {"units": {"KUBERNETES_POD": POD}})
REMOVED = ("worker-removed", "tcp://w1", {"expected": False})
Rows = tuple[str, str, dict[str, Any]]


def watched(
    *pieces: Rows, host: Mapping[str, object] | None = None
) -> list[Event | Unrecognised]:
    """Return the events of a recorder's watch, from these rows until it has finished."""
    taken: list[list[object]] = []

    async def watch() -> None:
        units = UnitWatch(taken.append, host or {})
        for kind, subject, detail in pieces:
            row = [time.time(), kind, subject, json.dumps(detail)]
            units.add_rows({"event": [row]})
        units.look()
        await units.finish()
        await asyncio.sleep(0)

    asyncio.run(watch())
    return [decoded(float(str(at)), str(k), str(s), str(d)) for at, k, s, d in taken]


@pytest.fixture
def configured(
    api: KubernetesApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> KubernetesApi:
    """Return an API that this process knows by its kubeconfig."""
    for name, value in api.configured(tmp_path).items():
        monkeypatch.setenv(name, value)
    for name in ("AT_THE_END", "_UNIMPORTANT", "LONGEST"):
        monkeypatch.setattr(unit_watch, name, _PATIENCE)
    return api


@pytest.mark.parametrize(
    "pieces",
    [(ATTACHED, ADDED, REMOVED), (IN_POD, ADDED, REMOVED)],
    ids=["cluster", "pod"],
)
def test_the_pod_of_a_worker_that_died_is_asked_for(
    configured: KubernetesApi, pieces: tuple[Rows, ...]
) -> None:
    configured.add(a_pod(containerStatuses=_OOM))

    events = watched(*pieces)

    [state] = [each for each in events if isinstance(each, UnitState)]
    assert (state.subject, state.state) == (POD, "OOMKilled")


def test_pods_whose_workers_did_not_arrive_are_found(configured: KubernetesApi) -> None:
    waiting = {"waiting": {"reason": "ImagePullBackOff", "message": "no such tag"}}
    late = "shop-default-worker-ffff-5d9c7bf4c8-aaaaa"
    configured.add(a_pod())
    configured.add(
        a_pod(late, phase="Pending", containerStatuses=[a_container(state=waiting)])
    )

    events = watched(ATTACHED, IN_POD, ADDED)

    said = {each.subject: each.state for each in events if isinstance(each, UnitState)}
    assert said == {POD: "Running", late: "ImagePullBackOff"}


def test_the_pod_of_the_driver_is_asked_for(configured: KubernetesApi) -> None:
    pod = a_pod("nightly-x7k2p")
    del pod["metadata"]["labels"]
    configured.add(pod)

    events = watched(host={"kind": "kubernetes", "pod": "nightly-x7k2p"})

    assert "nightly-x7k2p" in [each.subject for each in events]


def test_a_run_elsewhere_asks_nothing(configured: KubernetesApi) -> None:
    local = ("driver-attached", "driver", {"cluster": {"kind": "LocalCluster"}})

    assert watched(local, ADDED, REMOVED) == []
    assert configured.asked == []


def test_what_names_the_pods_of_a_cluster_object() -> None:
    class Kube:
        def __init__(self) -> None:
            self.namespace, self._cluster_info = "shop", {"name": "nightly"}

    class Helm:
        def __init__(self) -> None:
            self.namespace, self.release_name = "shop", "dask"

    assert facts_of_cluster(Kube())["units"] == {
        "nightly": "shop//dask.org/cluster-name=nightly"
    }
    assert facts_of_cluster(Helm())["units"] == {"dask": "shop//release=dask"}


@pytest.mark.parametrize(
    ("host", "named"),
    [("dask-worker-0", True), ("x" * 63, False), ("", False)],
)
def test_a_pod_is_named_by_its_host_name_unless_that_was_cut(
    host: str, *, named: bool
) -> None:
    inside = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "HOSTNAME": host}

    assert ("KUBERNETES_POD" in named_units(inside)) == named
    assert named_units({"HOSTNAME": host}) == {}


def test_the_pods_of_a_cluster_object_are_known_before_its_scheduler_is() -> None:
    noted: list[dict[str, object]] = []
    patches = Patches()
    OrderedEnds(lambda kind, detail: noted.append({"event": kind} | detail)).watch(
        patches
    )
    try:
        cluster = Cluster.__new__(Cluster)
        cluster.__dict__ |= {
            "_cluster_info": {"name": "shop"}, "namespace": None, "quiet": True,
            "_cluster_manager_logs": [],
        }  # fmt: skip
        cluster._log("Looking for the namespace")
        cluster.__dict__["namespace"] = "dask"
        for step in ("Creating DaskCluster object", "Waiting for scheduler pod"):
            cluster._log(step)
    finally:
        patches.restore()

    pods = {"shop": "dask//dask.org/cluster-name=shop"}
    assert noted == [{"event": "units-named", "cluster": "Cluster", "units": pods}]
    assert len(cluster._cluster_manager_logs) == 3
