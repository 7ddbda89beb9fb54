"""One cluster for several tasks: each has its own recording, and the cluster is closed."""

from __future__ import annotations

import gc
import json
import logging
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from airflow_dask_blackbox import cluster_process
from airflow_dask_blackbox.addresses import TaskKey
from airflow_dask_blackbox.arguments import OperatorConfigurationError
from airflow_dask_blackbox.clusters import connected_client
from airflow_dask_blackbox.kept_clusters import KeptCluster, close_at
from airflow_dask_blackbox.named_clusters import NamedCluster, close_named
from conditions import scaled, until
from dask_blackbox.layout import RunAddress

from tests.support.airflow_versions import needs_exception_in_callbacks
from tests.support.gateway_server import Gateway, served_gateway

pytestmark = [
    pytest.mark.nightly,
    # dask-gateway asks a closed loop for itself, wherever its objects are collected.
    pytest.mark.filterwarnings(
        "ignore:.*Gateway.__del__:pytest.PytestUnraisableExceptionWarning"
    ),
]

_GROUP = """
from airflow.sdk import task
from airflow_dask_blackbox.cluster_group import dask_cluster

def pid():
    import os
    return os.getpid()

with DAG("{dag_id}", params={{"workers": 1, "fails": False}}):
    with dask_cluster(
        cluster_kwargs={{"n_workers": "{{{{ params.workers }}}}", "threads_per_worker": 1}}
    ) as cluster:

        @task.dask_observed(cluster=cluster, store={store!r})
        def load(client):
            print("tasks may print")
            return client.submit(pid).result()

        def price(before, params, ti, client):
            if params["fails"]:
                raise ValueError("no prices")
            button = {{"task_ids": "dask_cluster.start_cluster", "key": "dask_dashboard"}}
            again = client.submit(pid, pure=False).result()
            return [before, again, ti.xcom_pull(**button)]

        loaded = load()
        priced = DaskObservedOperator(
            task_id="price",
            python_callable=price,
            op_kwargs={{"before": loaded}},
            cluster=cluster,
            store={store!r},
        )

    @task
    def report(pids, address):
        return [pids, address]

    report(priced.output, cluster)
"""


def _state(store: Path, job: str, run_id: str) -> Any:
    file = store / RunAddress.of(job, run_id, 1).folder / "card.json"
    return json.loads(file.read_text())["state"]


def _is_closed(address: str) -> bool:
    from distributed.comm import connect

    async def answers() -> bool:
        try:
            comm = await connect(address, timeout=1)
        except OSError:
            return False
        await comm.close()
        return True

    import asyncio

    return not asyncio.run(answers())


@pytest.mark.parametrize("price", ["success", "failed"])
def test_several_tasks_share_a_cluster_that_is_closed_after_them(
    airflow: Any, tmp_path: Path, price: str
) -> None:
    fails = price == "failed"
    dag_id = f"shared_cluster_{price}"
    dag = airflow.load(_GROUP.format(dag_id=dag_id, store=str(tmp_path)), dag_id)
    run = dag.test(run_conf={"fails": fails})

    group = "dask_cluster."
    tis = {ti.task_id.removeprefix(group): ti for ti in run.get_task_instances()}
    states = {name: str(ti.state) for name, ti in tis.items()}
    assert states == {
        "start_cluster": "success",
        "load": "success",
        "price": price,
        "close_cluster": "success",
        "report": "upstream_failed" if fails else "success",
    }
    address = tis["load"].xcom_pull(task_ids=f"{group}start_cluster")
    assert _is_closed(address)
    button = {"task_ids": f"{group}start_cluster", "key": "dask_dashboard"}
    assert tis["load"].xcom_pull(**button) is None
    assert _state(tmp_path, f"{dag_id}.{group}load", run.run_id) == "succeeded"
    assert _state(tmp_path, f"{dag_id}.{group}price", run.run_id) == (
        "failed" if fails else "succeeded"
    )
    if not fails:
        pids, reported = tis["report"].xcom_pull(task_ids="report")
        assert pids[0] == pids[1]
        assert pids[2].startswith("http://")  # it opened Dask's dashboard
        assert reported == address


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway whose clusters are processes of this machine."""
    folder = tmp_path_factory.mktemp("gateway")
    with served_gateway(folder, Path(sys.executable)) as served:
        yield served


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    """Have what a test leaves collected in that test."""
    yield
    gc.collect()


_AT_GATEWAY = """
from airflow.sdk import task
from airflow_dask_blackbox.cluster_group import dask_cluster

def pid():
    import os
    return os.getpid()

with DAG("at_gateway", params={{"fails": False}}):
    with dask_cluster(
        cluster={{"class": "dask_gateway.GatewayCluster"}},
        cluster_kwargs={{
            "address": "http://127.0.0.1:{http}",
            "proxy_address": "gateway://127.0.0.1:{tcp}",
        }},
        adapt={{"minimum": 1, "maximum": 1}},
    ) as cluster:

        @task.dask_observed(cluster=cluster, store={store!r})
        def load(client):
            return client.submit(pid).result()

        @task.dask_observed(cluster=cluster, store={store!r})
        def price(before, params, client):
            if params["fails"]:
                raise ValueError("no prices")
            return [before, client.submit(pid, pure=False).result()]

        price(load())
"""


@pytest.mark.parametrize("price", ["success", "failed"])
def test_tasks_share_a_cluster_that_a_gateway_runs(
    airflow: Any, gateway: Gateway, tmp_path: Path, price: str
) -> None:
    text = _AT_GATEWAY.format(http=gateway.http, tcp=gateway.tcp, store=str(tmp_path))
    dag = airflow.load(text, "at_gateway")

    run = dag.test(run_conf={"fails": price == "failed"})

    group = "dask_cluster."
    tis = {ti.task_id.removeprefix(group): ti for ti in run.get_task_instances()}
    assert {name: str(ti.state) for name, ti in tis.items()} == {
        "start_cluster": "success",
        "load": "success",
        "price": price,
        "close_cluster": "success",
    }
    found_by = tis["load"].xcom_pull(task_ids=f"{group}start_cluster")
    assert found_by["class"] == "dask_gateway.client.GatewayCluster.from_name"
    assert found_by["kwargs"]["address"] == f"http://127.0.0.1:{gateway.http}"
    until(lambda: not gateway.clusters(), "the end of the cluster")
    if price == "success":
        pids = tis["price"].xcom_pull(task_ids=f"{group}price")
        assert pids[0] == pids[1]
    for name in ("load", "price"):
        state = _state(tmp_path, f"at_gateway.{group}{name}", run.run_id)
        assert state == (
            "failed" if (name, price) == ("price", "failed") else "succeeded"
        )


def test_a_setup_that_fails_or_is_killed_leaves_no_cluster_at_the_gateway(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow_dask_blackbox import named_clusters

    starting = NamedCluster(logging.getLogger("setup"))

    def killed(cluster: Any, adapt: Any) -> None:
        assert gateway.clusters()
        raise KeyboardInterrupt

    monkeypatch.setattr(named_clusters, "adapt_cluster", killed)
    with pytest.raises(KeyboardInterrupt):
        starting.start(
            {"class": "dask_gateway.GatewayCluster"},
            cluster_kwargs=gateway.arguments,
            adapt={"maximum": 1},
            idle_timeout="1 hour",
        )

    until(lambda: not gateway.clusters(), "the end of the cluster")


def test_a_cluster_whose_teardown_never_runs_ends_after_the_idle_timeout(
    gateway: Gateway, caplog: pytest.LogCaptureFixture
) -> None:
    setup = NamedCluster(logging.getLogger("setup"))
    with caplog.at_level(logging.WARNING):
        reference, _ = setup.start(
            {"class": "dask_gateway.GatewayCluster"},
            cluster_kwargs=gateway.arguments,
            adapt=None,
            # From its start; its client and its worker come later.
            idle_timeout=f"{scaled(5):.0f} s",
        )
    name = reference["kwargs"]["cluster_name"]
    with connected_client(
        reference, cluster_kwargs={}, client_kwargs={}, adapt=None
    ) as client:
        cluster: Any = client.cluster
        cluster.scale(1)
        assert client.submit(sum, [1, 2]).result(timeout=scaled(60)) == 3
        assert name in gateway.clusters()

    until(lambda: name not in gateway.clusters(), "the end of the cluster")
    assert caplog.messages == []
    close_named(reference, logging.getLogger("teardown"))


def test_a_cluster_that_is_gone_from_the_gateway_is_closed_already(
    gateway: Gateway, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    kwargs = {"cluster_name": "gone", **gateway.arguments}

    close_named(
        {"class": "dask_gateway.GatewayCluster.from_name", "kwargs": kwargs},
        logging.getLogger("teardown"),
    )

    assert "The cluster gone is closed already" in caplog.messages


def test_a_gateway_without_an_address_fails_the_teardown() -> None:
    with pytest.raises(ValueError, match="No dask-gateway address"):
        close_named(
            {
                "class": "dask_gateway.GatewayCluster.from_name",
                "kwargs": {"cluster_name": "known"},
            },
            logging.getLogger("teardown"),
        )


def test_a_gateway_that_does_not_answer_fails_the_teardown(gateway: Gateway) -> None:
    kwargs = {**gateway.arguments, "address": "http://127.0.0.1:1"}

    with pytest.raises(OSError, match=r"127\.0\.0\.1:1"):
        close_named(
            {
                "class": "dask_gateway.GatewayCluster.from_name",
                "kwargs": {"cluster_name": "known", **kwargs},
            },
            logging.getLogger("teardown"),
        )


@pytest.mark.parametrize(
    ("cluster", "by_name"),
    [
        (None, False),
        ({"class": "distributed.LocalCluster"}, False),
        ({"class": "distributed.SpecCluster"}, False),
        ({"class": "dask_gateway.GatewayCluster"}, True),
    ],
)
def test_clusters_of_the_setups_own_process_are_not_found_by_name(
    cluster: Any,
    by_name: object,
) -> None:
    assert NamedCluster.can_start(cluster) is by_name


def test_a_cluster_in_the_pod_of_its_setup_is_warned_of(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("DASK_BLACKBOX__SPOOL", str(tmp_path / "spool"))
    monkeypatch.setenv("AIRFLOW_IS_K8S_EXECUTOR_POD", "True")
    log = logging.getLogger("setup")
    key = TaskKey("sales", "manual__1", "dask_cluster.start_cluster", -1)

    address, _ = KeptCluster(key, log).start(
        None, cluster_kwargs={"n_workers": 0}, adapt=None, idle_timeout="1 minute"
    )
    close_at(address, log)

    assert "The scheduler of a LocalCluster is a process of that pod" in caplog.text
    assert "the cluster ends with that pod" in caplog.text
    assert "give each task a cluster of its own" in caplog.text


@pytest.mark.parametrize(
    ("address", "here"),
    [
        ("tcp://127.0.0.1:8786", True),
        ("tls://localhost:8786", True),
        ("tcp://192.0.2.7:8786", False),
        ("tcp://[2001:db8::7]:8786", False),
        ("inproc://10.0.0.1/7/1", True),
    ],
)
def test_it_is_known_whether_a_scheduler_is_on_this_machine(
    address: str, *, here: bool
) -> None:
    assert cluster_process.is_here(address) is here


def test_a_cluster_that_no_other_process_reaches_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DASK_BLACKBOX__SPOOL", str(tmp_path / "spool"))
    key = TaskKey("sales", "manual__1", "dask_cluster.start_cluster", -1)
    starting = KeptCluster(key, logging.getLogger("setup"))
    arguments = {"n_workers": 0, "processes": False}

    with pytest.raises(OperatorConfigurationError, match="leave out processes=False"):
        starting.start(
            None, cluster_kwargs=arguments, adapt=None, idle_timeout="1 minute"
        )

    assert not list(tmp_path.rglob("*.json"))


@needs_exception_in_callbacks
def test_a_cluster_that_does_not_start_fails_its_setup_with_the_reason(
    airflow: Any,
) -> None:
    dag = airflow.load(
        """
from airflow_dask_blackbox.cluster_group import dask_cluster

def broken():
    raise RuntimeError("the quota is used up")

def caught(context):
    context["ti"].xcom_push(key="caught", value=str(context["exception"]))

with DAG("no_shared_cluster", default_args={"on_failure_callback": caught}):
    with dask_cluster(cluster=broken) as cluster:
        DaskObservedOperator(task_id="work", python_callable=print, cluster=cluster)
""",
        "no_shared_cluster",
    )
    run = dag.test()

    caught = airflow.xcoms(run)["caught"]
    assert caught == "the cluster did not start: RuntimeError: the quota is used up"


def test_a_cluster_that_is_gone_is_closed_already(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO):
        close_at("tcp://127.0.0.1:1", logging.getLogger("closing"))

    assert "The cluster at tcp://127.0.0.1:1 is closed already" in caplog.messages


def test_a_setup_that_is_cleared_closes_the_cluster_that_it_had_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DASK_BLACKBOX__SPOOL", str(tmp_path / "spool"))
    log = logging.getLogger("setup")
    key = TaskKey("sales", "manual__1", "dask_cluster.start_cluster", -1)

    def started() -> str:
        arguments = {"n_workers": 1, "threads_per_worker": 1}
        address, _ = KeptCluster(key, log).start(
            None, cluster_kwargs=arguments, adapt=None, idle_timeout="10 minutes"
        )
        return address

    first, second = started(), started()

    assert _is_closed(first)
    assert not _is_closed(second)
    close_at(second, log)
    assert _is_closed(second)


def test_a_scheduler_that_is_busy_keeps_its_cluster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from distributed import Client
    from distributed.deploy.subprocess import SubprocessCluster

    monkeypatch.setattr(cluster_process, "_LOOK", 0.02)
    monkeypatch.setattr(cluster_process, "_ANSWER", 0.1)
    with (
        SubprocessCluster(n_workers=0, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        keeping = threading.Thread(
            target=cluster_process._wait_for_the_end, args=(cluster,)
        )
        keeping.start()

        client.run_on_scheduler(time.sleep, 3)

        assert keeping.is_alive()
    keeping.join(60)
    assert not keeping.is_alive()
