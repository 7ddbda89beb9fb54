"""Templates in the operator's arguments, and arguments that cannot work."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from airflow_dask_blackbox.arguments import OperatorConfigurationError
from airflow_dask_blackbox.cluster_group import DaskClusterSetup
from airflow_dask_blackbox.clusters import prepared, rendered_cluster, takes_text
from airflow_dask_blackbox.compat import AirflowException
from airflow_dask_blackbox.operators.dask import DaskObservedOperator
from airflow_dask_blackbox.templates import native
from dask_blackbox.errors import ConfigurationError
from dask_blackbox.layout import RunAddress


def _operator(**arguments: Any) -> DaskObservedOperator:
    return DaskObservedOperator(task_id="t", python_callable=print, **arguments)


def test_arguments_of_cluster_and_client_are_templates(
    airflow: Any, tmp_path: Path
) -> None:
    ran = airflow.run(
        """
        def shape(client):
            from distributed import wait

            client.wait_for_workers(2)
            (spec,) = {type(w["options"]["memory_limit"]) for w in
                       client.cluster.worker_spec.values()}
            allowed = client.cluster.scheduler.allowed_failures
            return [len(client.nthreads()), client.id, spec.__name__, allowed]

        with DAG("templates", params={"size": 1, "more": 2, "memory": "400 MiB"}):
            DaskObservedOperator(
                task_id="shape",
                python_callable=shape,
                cluster={
                    "class": "distributed.LocalCluster",
                    "kwargs": {"memory_limit": "{{ params.memory }}"},
                },
                cluster_kwargs={
                    "n_workers": "{{ params.size }}",
                    "threads_per_worker": "{{ params.size }}",
                    "resources": {"disk": "{{ params.more }}"},
                },
                client_kwargs={"name": "{{ dag.dag_id }}"},
                adapt={"minimum": "{{ params.more }}", "maximum": "{{ params.more }}"},
                dask_config={
                    "distributed.scheduler.allowed-failures": "{{ params.more }}",
                    "blackbox.store.url": FOLDER,
                },
            )
        """.replace("FOLDER", repr(str(tmp_path))),
        "templates",
    )

    assert ran.state == "success"
    assert ran.value == [2, ran.value[1], "str", 2]
    assert ran.value[1].startswith("Client-templates-")
    recorded = RunAddress.of("templates.shape", ran.run_id, 1).folder
    assert (tmp_path / recorded).is_dir()


@pytest.mark.parametrize(
    ("template", "rendered", "value"),
    [
        ("{{ n }}", "4", 4),
        ("{{ n }}", "4 GiB", "4 GiB"),
        ("{{ n }}", "None", None),
        ("{{ n }}", "False", False),
        ("{{ n }}", "['a', 'b']", ["a", "b"]),
        ("{{ n }}", "[true]", [True]),
        ("{{ n }}", "[::1]", "[::1]"),
        ("{{ n }}", "{'n_workers': 2}", {"n_workers": 2}),
        ("{{ n }}", '{"processes": false}', {"processes": False}),
        ("{{ n }}", "{2", "{2"),
        ("0042", "0042", "0042"),
        *(
            ("{{ n }}", text, text)
            for text in ("2024.10", "3.10", "2026_11_28", "0x10", "1e5", "007", "+4")
        ),
        ("{{ major }}.{{ minor }}", "3.1", "3.1"),
        ("'{{ ds_nodash }}'", "'20261128'", "20261128"),
        (
            {"env": {"YEAR": "{{ n }}"}},
            {"env": {"YEAR": "2026"}},
            {"env": {"YEAR": "2026"}},
        ),
        ({"env": "{{ n }}"}, {"env": '{"YEAR": "2026"}'}, {"env": {"YEAR": "2026"}}),
        (
            {"extra": [{"name": "A", "value": "{{ n }}"}]},
            {"extra": [{"name": "A", "value": "1"}]},
            {"extra": [{"name": "A", "value": "1"}]},
        ),
        (
            {"resources": {"GPU": "{{ n }}"}},
            {"resources": {"GPU": "2"}},
            {"resources": {"GPU": 2}},
        ),
        (
            {"a": ["{{ n }}", "7"], "b": 3},
            {"a": ["0.5", "7"], "b": 3},
            {"a": [0.5, "7"], "b": 3},
        ),
    ],
)
def test_a_template_that_gives_a_number_a_list_or_a_dict_is_one(
    template: Any, rendered: Any, value: Any
) -> None:
    assert native(template, rendered) == value


class _Tagged:
    def __init__(  # type: ignore[no-untyped-def]
        self,
        tag: str | None = None,
        size: int = 1,
        share: str | float = "auto",
        zone="a",
        **more: Any,
    ) -> None: ...


@pytest.mark.parametrize(
    ("cluster", "template", "rendered", "value"),
    [
        (_Tagged, {"tag": "{{ n }}"}, {"tag": "20261128"}, {"tag": "20261128"}),
        (_Tagged, {"tag": "{{ n }}"}, {"tag": "None"}, {"tag": None}),
        (_Tagged, {"size": "{{ n }}"}, {"size": "4"}, {"size": 4}),
        (_Tagged, {"share": "{{ n }}"}, {"share": "0.5"}, {"share": 0.5}),
        (_Tagged, {"zone": "{{ n }}"}, {"zone": "4"}, {"zone": "4"}),
        (None, {"name": "{{ n }}"}, {"name": "20261128"}, {"name": "20261128"}),
        (None, {"n_workers": "{{ n }}"}, {"n_workers": "3"}, {"n_workers": 3}),
        (
            None,
            {"local_directory": "{{ n }}"},
            {"local_directory": "7"},
            {"local_directory": "7"},
        ),
        (
            None,
            {"memory_limit": "{{ n }}"},
            {"memory_limit": "0.5"},
            {"memory_limit": 0.5},
        ),
    ],
)
def test_an_argument_that_takes_text_gets_text(
    cluster: Any, template: Any, rendered: Any, value: Any
) -> None:
    assert native(template, rendered, takes_text(cluster)) == value


def test_a_cluster_in_templates_keeps_its_address_and_gets_numbers() -> None:
    named = {"class": "distributed.LocalCluster"}
    template = {**named, "kwargs": {"n_workers": "{{ n }}", "name": "{{ ds_nodash }}"}}
    rendered = {**named, "kwargs": {"n_workers": "2", "name": "20261128"}}

    assert rendered_cluster(template, rendered)["kwargs"] == {
        "n_workers": 2,
        "name": "20261128",
    }
    assert rendered_cluster("{{ n }}", "20261128") == "20261128"
    assert rendered_cluster("{{ n }}", str(named)) == named
    assert rendered_cluster("{{ n }}", "None") is None


@pytest.mark.nightly
def test_a_cluster_may_be_what_another_task_returns(airflow: Any) -> None:
    dag = airflow.load(
        """
        from airflow.sdk import task

        with DAG("cluster_of_another_task"):
            @task
            def choose():
                return {"class": "distributed.LocalCluster"}

            @task
            def forget():
                return None

            def workers(client):
                return len(client.nthreads())

            chosen, forgotten = choose(), forget()
            DaskObservedOperator(
                task_id="chosen",
                python_callable=workers,
                cluster=chosen,
                cluster_kwargs=TINY,
            )
            DaskObservedOperator(
                task_id="forgotten", python_callable=workers, cluster=forgotten
            )
        """,
        "cluster_of_another_task",
    )
    run = dag.test()

    states = {ti.task_id: str(ti.state) for ti in run.get_task_instances()}
    assert states["chosen"] == "success"
    assert states["forgotten"] == "failed"


def test_a_local_cluster_that_is_named_by_its_class_is_started_as_one_without() -> None:
    named = prepared({"class": "distributed.LocalCluster"}, {"n_workers": 1}, None)
    unnamed = prepared(None, {"n_workers": 1}, None)

    assert not isinstance(named, str)
    assert not isinstance(unnamed, str)
    ours = [
        [type(each) for each in one.keywords.pop("plugins")] for one in (named, unnamed)
    ]
    assert ours[0] == ours[1]
    assert (named.func, named.keywords) == (unnamed.func, unnamed.keywords)
    assert named.keywords["dashboard_address"] == "127.0.0.1:0"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"clutser": "tcp://s:8786"}, "no argument 'clutser'; did you mean 'cluster'?"),
        ({"n_workers": 4}, "no argument 'n_workers'; write cluster_kwargs="),
        ({"security": None}, "no argument 'security'; write client_kwargs="),
        ({"minimum": 1}, "no argument 'minimum'; write adapt="),
        ({"retreis": 1}, "no argument 'retreis'; did you mean 'retries'?"),
        ({"cluster_kwargs": [4]}, "cluster_kwargs= is list"),
        ({"client_kwargs": "tls"}, "client_kwargs= is str"),
        ({"adapt": 8}, "adapt= is int"),
        ({"dask_config": ["a"]}, "dask_config= is list"),
        ({"cluster": {"kwargs": {}}}, "a callable that returns a cluster"),
        ({"cluster": {"class": "LocalCluster"}}, "'LocalCluster' lacks its package"),
        ({"cluster": {"class": "a.B", "kwarg": {}}}, "did you mean 'kwargs'?"),
        ({"cluster": 42}, "cluster= is int, created while the DAG was parsed"),
        ({"cluster": "scheduler:8786"}, "'scheduler:8786' is not an address"),
        ({"keep_cluster": "yes"}, "keep_cluster= is str ('yes'); it has to be True or"),
        ({"required": 1}, "required= is int (1); it has to be True or False"),
        ({"job": 7}, "job= is int (7); it has to be text"),
        ({"parameters": ["a"]}, "parameters= is list (['a']); it has to be a dict"),
        (
            {"cluster": "tcp://s:1", "adapt": {"maximum": 3}},
            "adapt= is for a cluster that the task starts",
        ),
        (
            {"cluster": "tcp://s:1", "cluster_kwargs": {"n_workers": 3}},
            "remove cluster_kwargs=",
        ),
        ({"store": "hdfs://bucket/x"}, "store='hdfs://bucket/x' cannot be a store"),
        ({"store": "s3:/bucket"}, "store='s3:/bucket' lacks the //"),
        ({"store": "s3a://bucket/x"}, "use s3:// instead"),
        (
            {"store": "s3://KEY:hidden@bucket/x"},
            "'s3://…@bucket/x' contains credentials",
        ),
        ({"store_settings": {"endpiont": "x"}}, "did you mean 'endpoint'?"),
        ({"store_settings": "{{ var.json.store }}"}, "store_settings= is str"),
        (
            {"store_settings": {"endpoint": "{{ var.value.endpoint }}"}},
            "store_settings= has a template as 'endpoint'",
        ),
        ({"keep_cluster": True}, "a LocalCluster ends with it"),
        (
            {"cluster": {"class": "distributed.LocalCluster"}, "keep_cluster": True},
            "a LocalCluster ends with it",
        ),
        ({"cluster": "tcp://s:1", "keep_cluster": True}, "remove keep_cluster="),
        (
            {"cluster": "tcp://s:1", "dask_conn_id": "farm"},
            "cluster= and dask_conn_id= both name a cluster",
        ),
    ],
)
def test_arguments_that_cannot_work_are_refused_while_the_dag_is_parsed(
    arguments: dict[str, Any], says: str
) -> None:
    with pytest.raises(OperatorConfigurationError, match=re.escape(says)) as caught:
        _operator(**arguments)

    assert isinstance(caught.value, AirflowException)
    assert isinstance(caught.value, ConfigurationError)


@pytest.mark.parametrize(
    "arguments",
    [
        {"store": "{{ var.value.store }}"},
        {"store": "s3://bucket/{{ params.team }}"},
        {"store": "/folder/that/only/tasks/have"},
        {"store": "s3://bucket/x", "store_settings": {"read_timeout": "9s"}},
        {"keep_cluster": True, "dask_conn_id": "farm"},
        {
            "keep_cluster": True,
            "cluster": {"class": "dask_kubernetes.operator.KubeCluster"},
        },
        {"cluster_kwargs": {"n_workers": 1}, "dask_conn_id": "farm"},
    ],
)
def test_arguments_that_can_work_are_not_refused(arguments: dict[str, Any]) -> None:
    assert _operator(**arguments).task_id == "t"


def test_a_cluster_of_several_tasks_is_no_cluster_at_an_address() -> None:
    with pytest.raises(OperatorConfigurationError, match="already exists"):
        DaskClusterSetup(task_id="start", cluster="tcp://s:1")

    assert DaskClusterSetup(task_id="start", cluster="{{ var.value.x }}").cluster


@pytest.mark.parametrize(
    "arguments",
    [
        {"cluster_kwargs": {"processes": False}},
        {"cluster_kwargs": {"processes": False, "host": "0.0.0.0"}},
        {
            "cluster": {
                "class": "distributed.LocalCluster",
                "kwargs": {"processes": False},
            }
        },
    ],
)
def test_a_cluster_of_several_tasks_is_reached_by_other_processes(
    arguments: dict[str, Any],
) -> None:
    with pytest.raises(OperatorConfigurationError, match="leave out processes=False"):
        DaskClusterSetup(task_id="start", **arguments)

    for fine in ({"protocol": "tcp://"}, {"scheduler_port": 8786}, {"processes": True}):
        given = {**arguments.get("cluster_kwargs", {}), **fine}
        DaskClusterSetup(task_id="start", **{**arguments, "cluster_kwargs": given})


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"cluster": "scheduler:8786"}, "'scheduler:8786' is not an address"),
        (
            {"cluster": {"class": "no_such_package.Cluster"}},
            "No module named 'no_such_package'",
        ),
        (
            {"cluster": {"class": "distributed.NoSuchCluster"}},
            "no attribute 'NoSuchCluster'",
        ),
        (
            {"cluster_kwargs": {"n_worker": 2}},
            (
                "cluster_kwargs= has 'n_worker', which LocalCluster does not take; "
                "did you mean 'n_workers'?"
            ),
        ),
        (
            {"cluster_kwargs": {"memory_limit": "4 gigs"}},
            "LocalCluster does not take this cluster_kwargs= (memory_limit: str): ",
        ),
        (
            {"client_kwargs": {"timout": 3}},
            (
                "client_kwargs= has 'timout', which Client does not take; "
                "did you mean 'timeout'?"
            ),
        ),
        ({"client_kwargs": {"address": "x"}}, "give the address as cluster="),
        ({"client_kwargs": {"asynchronous": True}}, "a task's client is synchronous"),
    ],
)
def test_arguments_that_cannot_work_fail_the_task_before_it_costs_anything(
    arguments: dict[str, Any], says: str
) -> None:
    from airflow_dask_blackbox.clusters import connected_client

    given: dict[str, Any] = {
        "cluster_kwargs": {},
        "client_kwargs": {},
        "adapt": None,
        "cluster": None,
    }
    with (
        pytest.raises(OperatorConfigurationError, match=re.escape(says)),
        connected_client(**{**given, **arguments}),
    ):
        pass


def test_a_wrong_argument_for_scaling_is_refused_before_a_cluster_starts() -> None:
    from airflow_dask_blackbox.clusters import connected_client
    from distributed import LocalCluster

    started: list[LocalCluster] = []

    class Counted(LocalCluster):
        def __init__(self, **more: Any) -> None:
            started.append(self)
            super().__init__(**more)  # type: ignore[no-untyped-call]

    with (
        pytest.raises(OperatorConfigurationError, match=r"did you mean 'minimum'\?"),
        connected_client(
            Counted, cluster_kwargs={}, client_kwargs={}, adapt={"minimun": 1}
        ),
    ):
        pass

    assert started == []


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        (
            'adapt={"minimun": 1}',
            (
                "adapt= has 'minimun', which LocalCluster.adapt does not take; "
                "did you mean 'minimum'?"
            ),
        ),
        (
            'dask_conn_id="nobody"',
            (
                "dask_conn_id='nobody': Airflow has no such connection; create one of type "
                "'dask', or correct the id"
            ),
        ),
    ],
    ids=["adapt", "connection"],
)
def test_a_wrong_argument_is_the_verdict(
    airflow: Any, tmp_path: Path, argument: str, said: str
) -> None:
    ran = airflow.run(
        f"""
with DAG("wrong_argument"):
    Watched(
        task_id="work",
        python_callable=print,
        cluster_kwargs={{**TINY, "processes": False}},
        {argument},
        store={str(tmp_path)!r},
    )
""",
        "wrong_argument",
    )

    folder = RunAddress.of("wrong_argument.work", ran.run_id, 1).folder
    verdict = json.loads((tmp_path / folder / "card.json").read_text())["verdict"]
    assert ran.state == "failed"
    assert ran.xcoms["caught"] == ["OperatorConfigurationError", said]
    # Titles are cut; the cause is not.
    assert f"Configuration error: {said}".startswith(verdict["title"].rstrip("…"))
    assert f"invalid argument or setting: {said}" in verdict["cause"]
    assert verdict["cause"].endswith("No Dask work had begun.")
    assert "clusters.py" not in verdict["remedy"]
