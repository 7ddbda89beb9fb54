"""A connection of type `dask`: its form, its hook, and what its test says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Any

import pytest
from airflow_dask_blackbox.hooks.dask import DaskHook

from tests.support.airflow_versions import needs_form_fields

Connect = Callable[..., DaskHook]


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Iterator[Connect]:
    """Makes an Airflow connection, and returns its hook."""
    import dask.config
    import distributed  # noqa: F401 - its defaults

    def made(**fields: Any) -> DaskHook:
        given = {"conn_type": "dask", **fields}
        monkeypatch.setenv("AIRFLOW_CONN_FARM", json.dumps(given))
        return DaskHook("farm")

    link = "distributed.dashboard.link"
    # A hook sets it for as long as the process runs; these tests share one.
    with dask.config.set({link: dask.config.get(link)}):
        yield made


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """The address of a cluster that runs."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=1,
        threads_per_worker=2,
        processes=False,
        dashboard_address=":0",
        host="127.0.0.1",
        protocol="tcp",
    ) as cluster:
        yield cluster.scheduler_address


def test_the_hook_gives_a_client_of_a_cluster_that_runs(
    connect: Connect, scheduler: str
) -> None:
    host, _, port = scheduler.removeprefix("tcp://").partition(":")
    hook = connect(
        host=host,
        port=int(port),
        extra={"dashboard_link": "https://proxy.example/{host}/status"},
    )

    with hook.get_client(set_as_default=False) as client:
        assert client.submit(sum, [1, 2]).result() == 3
        assert client.dashboard_link == "https://proxy.example/127.0.0.1/status"


def test_the_hook_starts_a_cluster_of_the_connections_class(connect: Connect) -> None:
    hook = connect(
        extra={
            "cluster_class": "distributed.LocalCluster",
            "cluster_kwargs": '{"n_workers": 2, "processes": false}',
        }
    )

    with hook.get_cluster(threads_per_worker=1) as cluster:
        assert len(cluster.workers) == 2


def test_a_cluster_that_the_hook_starts_is_closed_with_its_client(
    connect: Connect,
) -> None:
    hook = connect(
        extra={
            "cluster_class": "distributed.LocalCluster",
            "cluster_kwargs": '{"n_workers": 1, "processes": false}',
        }
    )

    with hook.get_client() as client:
        cluster = client.cluster
        assert client.submit(sum, [1, 2]).result() == 3
        assert str(cluster.status) == "Status.running"

    assert str(cluster.status) == "Status.closed"
    client.close()


@pytest.mark.parametrize(
    "started",
    [
        "get_client() as client",
        "get_cluster() as cluster, cluster.get_client() as client",
    ],
)
def test_a_hooks_workers_run_functions_of_the_dag_file_in_any_task(
    airflow: Any, monkeypatch: pytest.MonkeyPatch, started: str
) -> None:
    extra = {
        "cluster_class": "distributed.LocalCluster",
        "cluster_kwargs": {"n_workers": 1, "threads_per_worker": 1},
    }
    connection = {"conn_type": "dask", "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_FARM", json.dumps(connection))
    dag = f"hooked_{started[4:10]}"
    ran = airflow.run(
        f"""
        from airflow.providers.standard.operators.python import PythonOperator

        def double(number):
            return 2 * number

        def work():
            import sys

            from airflow_dask_blackbox.hooks.dask import DaskHook

            # A task's own process imports the file once, `dag.test()` again.
            vars(sys.modules[__name__]).update(globals())
            with DaskHook("farm").{started}:
                return client.submit(double, 21).result(timeout=60)

        with DAG("{dag}"):
            PythonOperator(task_id="work", python_callable=work)
        """,
        dag,
    )

    assert ran.value == 42


@pytest.mark.parametrize(
    ("fields", "address"),
    [
        ({"host": "scheduler"}, "tcp://scheduler:8786"),
        ({"host": "scheduler", "port": 9000}, "tcp://scheduler:9000"),
        ({"host": "tls://scheduler:1"}, "tls://scheduler:1"),
        (
            {"host": "scheduler", "extra": {"tls_ca_file": "/ca.pem"}},
            "tls://scheduler:8786",
        ),
        ({}, None),
    ],
)
def test_an_address_is_made_of_the_fields(
    connect: Connect, fields: dict[str, Any], address: str | None
) -> None:
    assert connect(**fields).address == address


def test_a_connection_that_works_reports_the_cluster(
    connect: Connect, scheduler: str
) -> None:
    import distributed

    assert connect(host=scheduler).test_connection() == (
        True,
        f"{scheduler} runs Dask {distributed.__version__} with 1 worker and 2 threads",
    )
    assert connect().test_connection() == (
        True,
        "Each task starts a LocalCluster of its own",
    )


def test_a_cluster_class_beside_an_address_is_reported_as_unused(
    connect: Connect, scheduler: str
) -> None:
    extra = {"cluster_class": "distributed.LocalCluster"}

    works, sentence = connect(host=scheduler, extra=extra).test_connection()

    assert works
    assert sentence.endswith("; the cluster class is not used beside an address")


def test_a_server_that_is_no_scheduler_is_named_as_such(connect: Connect) -> None:
    class Answer(BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(1)
            self.request.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with ThreadingTCPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_address[1]
        works, sentence = connect(host="127.0.0.1", port=port).test_connection()
        server.shutdown()

    assert not works
    assert sentence.startswith(
        f"The server at tcp://127.0.0.1:{port} is not a Dask scheduler"
    )


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        (
            {"host": "tcp://127.0.0.1:1"},
            "No Dask scheduler answers at tcp://127.0.0.1:1: it does not run there",
        ),
        (
            {"host": "s", "extra": {"tls_ca_file": "/no/ca.pem"}},
            "TLS also needs tls_client_cert and tls_client_key",
        ),
        (
            {
                "host": "s",
                "extra": {
                    "tls_ca_file": "/no/ca.pem",
                    "tls_client_cert": "/no/cert.pem",
                    "tls_client_key": "/no/key.pem",
                },
            },
            "There is no file '/no/ca.pem' on this machine",
        ),
        (
            {"extra": {"cluster_class": "no_such_package.Cluster"}},
            "cluster class 'no_such_package.Cluster' cannot be imported here",
        ),
        (
            {"extra": {"cluster_kwargs": "n_workers=4"}},
            "connection 'farm' cannot work: its cluster arguments are not valid JSON",
        ),
        (
            {"extra": {"cluster_kwargs": '{"n_worker": 4}'}},
            "did you mean 'n_workers'?",
        ),
        (
            {"host": "tls://127.0.0.1", "port": 1},
            "uses TLS: fill in the CA certificate",
        ),
        (
            {"host": "s", "extra": {"dashboard_link": "https://proxy/{host"}},
            "its dashboard address 'https://proxy/{host' is not a valid template",
        ),
        ({"conn_type": "aws"}, "it is of type 'aws', not 'dask'"),
    ],
)
def test_a_connection_that_cannot_work_reports_why_in_one_sentence(
    connect: Connect, fields: dict[str, Any], says: str
) -> None:
    works, sentence = connect(**fields).test_connection()

    assert not works
    assert says in sentence
    assert "\n" not in sentence


def test_the_operator_takes_its_cluster_from_a_connection(
    airflow: Any, connect: Connect, scheduler: str
) -> None:
    connect(host=scheduler, extra={"dashboard_link": "https://proxy.example/{port}"})
    ran = airflow.run(
        """
        def where(client):
            return [client.scheduler.address, client.dashboard_link]

        with DAG("of_connection", params={"conn": "farm"}):
            DaskObservedOperator(
                task_id="where",
                python_callable=where,
                dask_conn_id="{{ params.conn }}",
            )
        """,
        "of_connection",
    )

    assert ran.value[0] == scheduler
    assert ran.value[1].startswith("https://proxy.example/")


@needs_form_fields
def test_airflow_shows_the_form() -> None:
    from airflow.providers_manager import ProvidersManager

    manager = ProvidersManager()  # type: ignore[no-untyped-call]
    fields = {
        name.rpartition("__")[2]
        for name in manager.connection_form_widgets
        if name.startswith("extra__dask__")
    }

    assert fields == {
        "tls_ca_file",
        "tls_client_cert",
        "tls_client_key",
        "cluster_class",
        "cluster_kwargs",
        "dashboard_link",
    }
