"""What cluster objects say of themselves and of their workers, without asking anybody.

The classes are made here, in the form of the libraries' own; `tests/install/test_cloudprovider.py`
has a real one.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from dask_blackbox.analyse.facts.managers import manager_of
from dask_blackbox.capture.driver.driver_environment import facts_of_cluster
from dask_blackbox.capture.driver.ordered_ends import OrderedEnds, unit_of
from dask_blackbox.capture.driver.patches import Patches
from dask_blackbox.capture.driver.yarn_containers import YarnContainers
from dask_blackbox.capture.process import named_units
from dask_blackbox.events import DriverClosing, ManagerAsked, UnitState, decoded
from dask_blackbox.managers import manager_of_cluster, unit_named_in
from dask_blackbox.report.workers import worker_processes
from runs_from_rows import (
    START,
    a_departure,
    a_run,
    a_worker,
    an_event,
    killed_worker,
    raised_in,
    the_verdict,
)


def an_object(kind: str, module: str, /, **held: object) -> object:
    """Return an object of a class that is called so."""
    made: object = type(kind, (), {"__module__": module})()
    made.__dict__.update(held)
    return made


@pytest.mark.parametrize(
    ("cluster", "kind", "name", "page"),
    [
        (
            an_object(
                "Cluster", "coiled.v2.cluster",
                cluster_id=812, name="nightly", cloud=SimpleNamespace(server="https://cloud.coiled.io"),
            ),
            "coiled.Cluster", "812", "https://cloud.coiled.io/clusters/812",
        ),
        # It may not have been created yet.
        (an_object("Cluster", "coiled.v2.cluster", cluster_id=None), "coiled.Cluster", "", ""),
        (
            an_object(
                "YarnCluster", "dask_yarn.core",
                application_client=SimpleNamespace(id="application_17_0001"),
            ),
            "YarnCluster", "application_17_0001", "",
        ),
        (
            an_object(
                "DatabricksCluster", "dask_databricks.databrickscluster",
                _cluster_info={"name": "0923-164208-meows279"},
            ),
            "DatabricksCluster", "0923-164208-meows279", "",
        ),
        (
            an_object("FargateCluster", "dask_cloudprovider.aws.ecs", cluster_arn="arn:aws:ecs:c"),
            "FargateCluster", "arn:aws:ecs:c", "",
        ),
        (
            an_object("EC2Cluster", "dask_cloudprovider.aws.ec2", uuid="0f3e"),
            "EC2Cluster", "0f3e", "",
        ),
        (an_object("Mine", "shop.clusters", cluster_id=1, uuid="x"), "Mine", "", ""),
    ],
    ids=["coiled", "coiled-early", "yarn", "databricks", "ecs", "ec2", "others"],
)  # fmt: skip
def test_a_cluster_is_named_as_its_manager_calls_it(
    cluster: object, kind: str, name: str, page: str
) -> None:
    facts = facts_of_cluster(cluster)

    assert facts["kind"] == kind
    assert (facts.get("name", ""), facts.get("page", "")) == (name, page)


@pytest.mark.parametrize(
    ("held", "unit"),
    [
        ({"job_id": "12"}, "12"),
        ({"task_arn": "arn:aws:ecs:eu-west-1:1:task/dask/9f2c"}, "9f2c"),
        ({"instance": {"InstanceId": "i-0a1"}, "name": "dask-1"}, "i-0a1"),
        ({"instance": SimpleNamespace(id="6b1e"), "name": "dask-1"}, "6b1e"),
        ({"droplet": SimpleNamespace(id=3164494), "name": "dask-1"}, "3164494"),
        ({"vm": object(), "name": "dask-1"}, "dask-1"),
        ({"gcp_config": {}, "name": "dask-1"}, "dask-1"),
        ({"instance": None, "name": "dask-1"}, None),  # it is still being created
        ({"name": "0"}, None),
    ],
)
def test_the_unit_of_a_worker_is_what_its_object_holds(
    held: dict[str, object], unit: str | None
) -> None:
    assert unit_of(an_object("Worker", "any", **held)) == unit


class _Cluster:
    """As a `SpecCluster` whose worker objects choose the names of their workers."""

    scheduler_address = "tcp://s"

    def __init__(self, **names: str) -> None:
        self.workers = {key: an_object("VM", "any", name=n) for key, n in names.items()}
        self.worker_spec: dict[str, Any] = {key: {"options": {}} for key in names}
        self._created = set(self.workers.values())


def _ended(cluster: object) -> list[list[str]]:
    noted: list[dict[str, Any]] = []
    OrderedEnds(lambda _, facts: noted.append(facts))._note_ended(cluster)
    return [each["workers"] for each in noted]


def test_a_worker_that_chose_its_name_is_wanted_for_as_long_as_its_place_is() -> None:
    cluster = _Cluster(a="dask-1", b="dask-2")

    assert _ended(cluster) == []
    starting = an_object("VM", "any", name="dask-3")
    cluster.worker_spec["c"], cluster._created = {}, {*cluster._created, starting}
    assert _ended(cluster) == []
    del cluster.worker_spec["b"]
    assert _ended(cluster) == [["b", "dask-2"]]
    cluster.worker_spec.clear()
    assert _ended(cluster) == [["a", "b", "dask-1", "dask-2", "dask-3"]]


def test_a_container_of_yarn_is_named_by_its_environment() -> None:
    yarn = manager_of_cluster("YarnCluster")
    named = named_units({"CONTAINER_ID": "container_e17_1410_0001_01_000005"})

    assert unit_named_in(named) == (yarn, "container_e17_1410_0001_01_000005")
    assert named_units({"CONTAINER_ID": "3f1d"}) == {}


class _OfYarn:
    """A `YarnCluster`, as dask-yarn 0.9 has it: how it ends, and whom it asks."""

    __module__ = "dask_yarn.core"

    def __init__(self, answer: Callable[[], object], *, owns: bool = True) -> None:
        self.application_client = SimpleNamespace(
            id="application_17_0001", get_containers=lambda **_: answer()
        )
        self.scheduler_address = "tcp://s"
        self._finalizer = SimpleNamespace(peek=lambda: owns or None)
        self.ended = 0

    def _stop_sync(self, status: str = "SUCCEEDED", diagnostics: object = None) -> None:
        self.ended += 1


CONTAINER = "container_e17_1410_0001_01_000005"


def a_container(state: str, reason: str) -> object:
    """Return one as `skein.Container`."""
    return SimpleNamespace(
        yarn_container_id=CONTAINER, state=state, exit_message=reason,
        yarn_node_http_address="node7:8042", id="dask.worker_0",
        start_time=datetime(2026, 11, 30, tzinfo=UTC),
        finish_time=datetime(2026, 11, 30, 0, 1, tzinfo=UTC),
    )  # fmt: skip


def noted_of(cluster: _OfYarn, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return what is reported of a cluster object that a client is closed with, and closed."""
    library = ModuleType("dask_yarn.core")
    library.YarnCluster = _OfYarn  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "dask_yarn.core", library)
    noted: list[Any] = []
    watched, patches = YarnContainers(lambda *event: noted.append(event)), Patches()
    watched.watch(patches)
    watched.ask(cluster)  # as the client closes
    cluster._stop_sync()
    patches.restore()
    assert cluster.ended == 1
    return [
        decoded(1.0, kind, subject, json.dumps(facts)) for kind, subject, facts in noted
    ]


def test_what_yarn_says_of_containers_is_asked_once_before_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reason = "1.2 GB of 1 GB physical memory used"
    cluster = _OfYarn(lambda: [a_container("FAILED", reason)])

    asked, state, closing = noted_of(cluster, monkeypatch)

    assert isinstance(asked, ManagerAsked)
    assert (asked.manager, asked.units, asked.error) == ("YARN", 1, "")
    assert isinstance(state, UnitState)
    assert (state.subject, state.state, state.reason) == (CONTAINER, "FAILED", reason)
    assert (state.node, state.worker) == ("node7", "dask.worker_0")
    assert (state.memory_limit, state.memory) == (2**30, int(1.2 * 2**30))
    assert state.ended - state.started == 60  # type: ignore[operator]
    assert isinstance(closing, DriverClosing)
    assert (closing.what, closing.ends_workers_of) == ("YarnCluster.close", "tcp://s")


def test_a_master_that_fails_or_hangs_is_one_fact_and_keeps_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dask_blackbox.capture.driver.yarn_containers._LONGEST", 0.05)
    never = threading.Event()

    def fails() -> object:
        raise ConnectionError("Unable to connect to application")

    masters: tuple[tuple[Callable[[], object], str], ...] = (
        (fails, "Unable to connect"),
        (never.wait, "no answer within"),
    )
    for answer, says in masters:
        asked, closing = noted_of(_OfYarn(answer, owns=False), monkeypatch)

        assert isinstance(asked, ManagerAsked)
        assert says in asked.error
        assert isinstance(closing, DriverClosing)
        assert closing.ends_workers_of is None  # of another client
    never.set()


@pytest.mark.parametrize(
    ("state", "reason", "rule", "text"),
    [
        (
            "FAILED", "1.2 GB of 1 GB physical memory used",
            "worker-job-memory", "at 1.2 GiB of its limit of 1 GiB",
        ),
        ("FAILED", "Container preempted by scheduler", "worker-preempted", "by YARN"),
        (
            "FAILED", "Container released on a *lost* node",
            "worker-node-failed", "because a node of YARN container",
        ),
        ("KILLED", "Killed by user request", "worker-preempted", "SIGTERM"),
        ("RUNNING", "", "worker-preempted", "SIGTERM"),
    ],
)  # fmt: skip
def test_what_yarn_says_of_a_container_is_why_its_worker_was_lost(
    state: str, reason: str, rule: str, text: str
) -> None:
    address = "tcp://w1"
    facts: dict[str, Any] = {"manager": "YARN", "state": state, "reason": reason}
    if "memory" in reason:
        facts |= {"memory": int(1.2 * 2**30), "memory_limit": 2**30}
    ended = START + 10 if state != "RUNNING" else None
    run = a_run(
        an_event("driver-attached", "driver", at=0.5, cluster={"kind": "YarnCluster"}),
        a_worker(address, nanny="tcp://n1"),
        an_event(
            "process-ancestors", address, at=1.1, units={"CONTAINER_ID": CONTAINER}
        ),
        *a_departure(address, processing=["boom-1"], closing="signal-15"),
        an_event("manager-asked", at=11.0, manager="YARN", command="get_containers"),
        an_event("unit-state", CONTAINER, at=11.0, ended=ended, **facts),
        *raised_in("boom-1", killed_worker("boom-1")),
    )

    found = the_verdict(run)
    assert (found.rule, text in found.title) == (rule, True), found
    if text == "SIGTERM":
        assert (found.confidence, found.retry_advice) == ("medium", "unknown")
        assert f"YARN reports its container {CONTAINER} as {state}" in found.cause


def test_a_lost_instance_is_named_with_what_says_why() -> None:
    address = "tcp://w1"
    facts = {"name": "dask-1", "pid": 7, "nanny": "tcp://n1", "host": "10.0.0.7"}
    cluster = {"kind": "EC2Cluster", "units": {"dask-1": "i-0a1"}}
    run = a_run(
        an_event("driver-attached", "driver", at=0.5, cluster=cluster),
        an_event("worker-added", address, at=1.0, **facts),
        an_event("process-ancestors", address, at=1.1, machine="ip-10-0-0-7"),
        *a_departure(address, processing=["boom-1"], closing="signal-15"),
        *raised_in("boom-1", killed_worker("boom-1")),
    )

    found = the_verdict(run)
    assert manager_of(run) == "Amazon EC2"
    assert (found.rule, found.confidence, found.retry_advice) == (
        "worker-preempted", "medium", "unknown",
    )  # fmt: skip
    assert "because Amazon EC2 was not asked" in found.cause
    assert (
        "`aws ec2 describe-instances --instance-ids INSTANCE` says it" in found.remedy
    )
    [process] = worker_processes(run)
    assert process.how.endswith("; Amazon EC2 instance i-0a1")
    assert process.machine == "ip-10-0-0-7"
