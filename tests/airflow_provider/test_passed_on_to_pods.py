"""Tasks that run Dask in a pod or a container: what their operators give to it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.nightly

ROOT = Path(__file__).parents[2]
# Beside the environment and not in it: their plugins would be loaded by every other test.
REQUIREMENTS = (
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


@pytest.mark.usefixtures("_database")
def test_a_pod_and_a_container_know_of_which_task_their_recordings_are(
    tmp_path: Path,
) -> None:
    uv = os.environ.get("UV", str(ROOT / "tools" / "uv"))
    install = (uv, "pip", "install", "--quiet", "--no-deps", "--target", str(tmp_path))
    subprocess.run([*install, "--python", sys.executable, *REQUIREMENTS], check=True)

    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
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
