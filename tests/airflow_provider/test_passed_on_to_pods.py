"""Tasks that run Dask in a pod or a container: what their operators give to it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from airflow_dask_blackbox.addresses import TaskKey
from airflow_dask_blackbox.tab.recordings import place_of, recordings_of
from dask_blackbox.calling_task import calling_task
from dask_blackbox.testing import embedded_s3
from docker_engine import docker_engine
from environments_with_core import python_with_core

pytestmark = pytest.mark.nightly

ROOT = Path(__file__).parents[2]
# Beside the environment and not in it: their plugins would be loaded by every other test.
REQUIREMENTS = (
    "apache-airflow-providers-amazon==9.39.0",
    "apache-airflow-providers-cncf-kubernetes==10.25.0",
    "apache-airflow-providers-docker==4.6.1",
    "kubernetes==37.0.2",
    "kubernetes_asyncio==36.1.0",
    "docker==7.2.0",
    "aiofiles==25.1.0",
    "durationpy==0.11",
    "oauthlib==4.0.1",
    "requests_oauthlib==2.0.0",
    "websocket-client==1.9.2",
)
PROGRAM = """
import json
from types import SimpleNamespace

from airflow.providers.cncf.kubernetes.operators.pod import (
    KubernetesPodOperator, convert_env_vars
)
from airflow.providers.docker.operators.docker import DockerOperator
from airflow.sdk import DAG
from airflow_dask_blackbox import plain_tasks

ti = SimpleNamespace(
    dag_id="etl", run_id="r1", task_id="t", map_index=3, try_number=2, context_carrier={}
)
own = {"A": "1"}

def run(task, seen):
    ti.task = task
    task.execute = lambda context: seen(task)
    plain_tasks.watch(ti)
    return task.execute({"ti": ti})

def of_pod(task):
    task.hook._is_in_cluster = False  # else it looks for a cluster
    pod = task.build_pod_request_obj(None)
    return {each.name: each.value for each in pod.spec.containers[0].env}

def of_docker(task):
    return dict(task.environment)

with DAG("etl"):
    pods = [
        KubernetesPodOperator(task_id=f"pod_{n}", name="p", image="i", env_vars=given)
        for n, given in enumerate((own, None, {"BLACKBOX_TASK": "mine"}))
    ]
    dockers = [
        DockerOperator(task_id=f"docker_{n}", image="i", environment=given)
        for n, given in enumerate((own, None, {"BLACKBOX_TASK": "mine"}))
    ]
for each in pods:
    if isinstance(each.env_vars, dict):  # as Airflow has them after it has rendered
        each.env_vars = convert_env_vars(each.env_vars)
print(json.dumps([*(run(each, of_pod) for each in pods), *(run(each, of_docker) for each in dockers)]))
"""


DAG_OF_PODS = """
import sys
from airflow.sdk import DAG
from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator

with DAG("in_pods", schedule=None):
    KubernetesPodOperator(
        task_id="price",
        name="price",
        namespace="shop",
        image="python",
        cmds=[sys.executable],
        arguments=[{job!r}],
        env_vars={environment!r},
        config_file={config!r},
        in_cluster=False,
        get_logs=False,
        log_events_on_failure=False,
        on_finish_action="keep_pod",
    )
"""
JOB = """
from dask.distributed import Client
from dask_blackbox import recording

def price(items):
    return 100 / items

if __name__ == "__main__":
    with Client(n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
        with recording(client):
            client.submit(price, 0).result()
"""
DAG_OF_CONTAINERS = """
import sys
from airflow.sdk import DAG
from airflow.providers.docker.operators.docker import DockerOperator

with DAG("in_containers", schedule=None):
    DockerOperator(
        task_id="price",
        image="python",
        command=[sys.executable, {job!r}],
        environment={environment!r},
        docker_url={url!r},
        mount_tmp_dir=False,
    )
"""
DAG_ON_ECS = """
from airflow.sdk import DAG
from airflow.providers.amazon.aws.operators.ecs import EcsRunTaskOperator

with DAG("on_ecs", schedule=None, render_template_as_native_obj={native}):
    EcsRunTaskOperator(
        task_id="price",
        cluster="etl",
        task_definition="price",
        overrides={{"containerOverrides": [{{"name": "job", "environment": {environment!r}}}]}},
        launch_type="FARGATE",
        aws_conn_id=None,
        wait_for_completion=False,
    )
"""
MACRO = "{{ macros.dask_blackbox.env(ti) }}"
RUN = """
import sys
from airflow.dag_processing.dagbag import DagBag

bag = DagBag(sys.argv[1])
assert not bag.import_errors, bag.import_errors
run = bag.dags[sys.argv[2]].test()
(ti,) = run.get_task_instances()
print(run.run_id, ti.state)
"""


@pytest.fixture(scope="module")
def providers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the providers, whose plugins no other test may load."""
    folder = tmp_path_factory.mktemp("providers")
    uv = os.environ.get("UV", str(ROOT / "tools" / "uv"))
    install = (uv, "pip", "install", "--quiet", "--no-deps", "--target", str(folder))
    subprocess.run([*install, "--python", sys.executable, *REQUIREMENTS], check=True)
    return folder


@pytest.fixture
def kubernetes(tmp_path: Path) -> Iterator[Path]:
    """Start an API and a node that runs pods as processes; yield the client's configuration."""
    packages = ("kmock==0.8", "jsonpatch", "aiohttp", "psutil")
    python = python_with_core(tmp_path, *packages)
    script = ROOT / "tests" / "support" / "kubernetes_cluster.py"
    (tmp_path / "pods").mkdir()
    with subprocess.Popen(
        [python, script, tmp_path / "pods"],
        # A pod knows nothing of Airflow but what its task has passed on.
        env={name: os.environ[name] for name in ("PATH", "HOME")},
        stdout=subprocess.PIPE,
        text=True,
    ) as api:
        assert api.stdout is not None
        url = api.stdout.readline().strip()
        context = {"cluster": "here", "user": "me", "namespace": "shop"}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "here",
            "clusters": [{"name": "here", "cluster": {"server": url}}],
            "users": [{"name": "me", "user": {}}],
            "contexts": [{"name": "here", "context": context}],
        }
        (tmp_path / "config").write_text(json.dumps(config))
        yield tmp_path / "config"
        api.terminate()


@pytest.mark.usefixtures("_database")
@pytest.mark.parametrize("by_macro", [False, True])
def test_the_verdict_on_what_a_pod_ran_is_in_the_tab_of_its_task(
    providers: Path,
    kubernetes: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    by_macro: bool,
) -> None:
    monkeypatch.setenv("AIRFLOW__DASK_BLACKBOX__STORE", str(tmp_path / "store"))
    monkeypatch.setenv("AIRFLOW__DASK_BLACKBOX__RECORD_EVERY_CLIENT", str(not by_macro))
    job = tmp_path / "job.py"
    job.write_text(JOB)
    environment = {"BLACKBOX_TASK": MACRO} if by_macro else {}
    dag = DAG_OF_PODS.format(
        job=str(job), config=str(kubernetes), environment=environment
    )

    run_id, state = ran(dag, "in_pods", providers)

    assert state == "failed"
    assert_has_the_verdict(TaskKey("in_pods", run_id, "price"))


@pytest.mark.usefixtures("_database")
@pytest.mark.parametrize("by_macro", [False, True])
def test_the_verdict_on_what_a_container_ran_is_in_the_tab_of_its_task(
    providers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, by_macro: bool
) -> None:
    monkeypatch.setenv("AIRFLOW__DASK_BLACKBOX__STORE", str(tmp_path / "store"))
    monkeypatch.setenv("AIRFLOW__DASK_BLACKBOX__RECORD_EVERY_CLIENT", str(not by_macro))
    job = tmp_path / "job.py"
    job.write_text(JOB)
    environment = {"BLACKBOX_TASK": MACRO} if by_macro else {}

    with docker_engine() as engine:
        dag = DAG_OF_CONTAINERS.format(
            job=str(job), url=engine.url, environment=environment
        )
        run_id, state = ran(dag, "in_containers", providers)
        (container,) = engine.containers.values()

    assert set(container.environment) == {"BLACKBOX_TASK"}
    assert state == "failed"
    assert_has_the_verdict(TaskKey("in_containers", run_id, "price"))


@pytest.mark.usefixtures("_database")
@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("by_macro", [False, True])
def test_a_task_of_ecs_is_given_of_which_task_its_recordings_are(
    providers: Path, monkeypatch: pytest.MonkeyPatch, *, by_macro: bool, native: bool
) -> None:
    monkeypatch.setenv("AIRFLOW__DASK_BLACKBOX__STORE", "s3://dask-runs/etl")
    monkeypatch.setenv("AIRFLOW__DASK_BLACKBOX__RECORD_EVERY_CLIENT", str(not by_macro))
    environment = [{"name": "BLACKBOX_TASK", "value": MACRO}] if by_macro else []
    dag = DAG_ON_ECS.format(environment=environment, native=native)
    with embedded_s3() as aws:
        ecs = aws.client("ecs")
        ecs.create_cluster(clusterName="etl")
        job = {"name": "job", "image": "python", "memory": 512}
        ecs.register_task_definition(family="price", containerDefinitions=[job])
        for name, text in aws.environment.items():
            monkeypatch.setenv(name, text)
        monkeypatch.setenv("AWS_ENDPOINT_URL", aws.endpoint)

        run_id, state = ran(dag, "on_ecs", providers)

        known = ecs.list_tasks(cluster="etl")["taskArns"]
        (task,) = ecs.describe_tasks(cluster="etl", tasks=known)["tasks"]
    (container,) = task["overrides"]["containerOverrides"]
    (variable,) = container["environment"]
    assert state == "success"
    assert variable["name"] == "BLACKBOX_TASK"
    said = calling_task({"BLACKBOX_TASK": variable["value"]})
    assert (said["dag_id"], said["task_id"], said["run_id"], said["store"]) == (
        "on_ecs",
        "price",
        run_id,
        "s3://dask-runs/etl",
    )


def ran(dag: str, dag_id: str, providers: Path) -> list[str]:
    """Run a DAG of one task beside the providers; return its run's id, and the task's state."""
    file = Path(os.environ["AIRFLOW_HOME"], "dags", f"{dag_id}.py")
    file.write_text(dag)
    done = subprocess.run(
        [sys.executable, "-c", RUN, file, dag_id],
        env=os.environ | {"PYTHONPATH": str(providers)},
        capture_output=True,
        text=True,
        check=False,
    )
    file.unlink()
    assert done.returncode == 0, done.stdout[-3_000:] + done.stderr[-3_000:]
    return done.stdout.splitlines()[-1].split()


def assert_has_the_verdict(key: TaskKey) -> None:
    """Assert that the tab of a task finds the recording of the program, with its verdict."""
    (recorded,) = recordings_of(place_of(key, {}), key)
    assert recorded.state == "failed"
    assert recorded.manifest.job == f"{key.dag_id}.{key.task_id}"
    assert recorded.cause is not None
    assert recorded.cause.title.startswith("ZeroDivisionError in 'price'")


@pytest.mark.usefixtures("_database")
def test_a_pod_and_a_container_know_of_which_task_their_recordings_are(
    providers: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | {"PYTHONPATH": str(providers)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr[-3_000:]
    environments = json.loads(done.stdout.splitlines()[-1])
    for own, empty, given in (environments[:3], environments[3:]):
        said = json.loads(own["BLACKBOX_TASK"])
        assert (said["dag_id"], said["map_index"], said["try_number"]) == (
            "etl",
            "3",
            "2",
        )
        assert own["A"] == "1"
        assert json.loads(empty["BLACKBOX_TASK"]) == said
        assert given["BLACKBOX_TASK"] == "mine"
