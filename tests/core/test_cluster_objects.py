"""What cluster objects say of themselves and of their workers, without asking anybody.

The classes are made here, in the form of the libraries' own; `tests/install/test_cloudprovider.py`
has a real one.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from dask_blackbox.analyse.facts.managers import manager_of
from dask_blackbox.capture.driver.driver_environment import facts_of_cluster
from dask_blackbox.capture.driver.ordered_ends import OrderedEnds, unit_of
from dask_blackbox.capture.process import named_units
from dask_blackbox.managers import manager_of_cluster, unit_named_in
from dask_blackbox.report.workers import worker_processes
from runs_from_rows import (
    a_departure,
    a_run,
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
