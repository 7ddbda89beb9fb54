"""What schedulers say otherwise than in one variable: in names of pods and units, in files.

Each function takes the environment and the command line and returns values by names in lower
case, for the templates of its row in `schedulers`.  Files are small, local and read at most up
to `_MOST` bytes; nothing is asked over a network.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path, PurePath

from dask_blackbox.calling_task import calling_task
from dask_blackbox.identity.scheduler import number, stable
from dask_blackbox.identity.tools import script_of
from dask_blackbox.identity.values import joined
from dask_blackbox.patterns import bounded

Values = Mapping[str, str | None]

_MOST = 64 * 1024
"""Bytes that are read of a file."""

_SAFE = "bcdfghjklmnpqrstvwxz2456789"
"""Letters of the suffixes that Kubernetes makes (`rand.String`)."""

_UUID = bounded(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_OF_A_CRONJOB = bounded(rf"(?P<name>.+?)-(?P<minute>\d{{8}})-[{_SAFE}]{{5}}")
_OF_A_DEPLOYMENT = bounded(rf"(?P<name>.+?)-[{_SAFE}]{{8,10}}-[{_SAFE}]{{5}}")
_OF_A_JOB = bounded(rf"(?P<name>.+?)-[{_SAFE}]{{5}}")
_CLOUD_API = bounded(r"/api/accounts/([^/]+)/workspaces/([^/]+)$")

NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
PROCESSING_JOB = Path("/opt/ml/config/processingjobconfig.json")
CGROUP = Path("/proc/self/cgroup")


def airflow(environ: Mapping[str, str], argv: Sequence[str]) -> Values:
    """Return the task instance: as the process that runs it knows it, or as it passed itself on.

    Airflow's own variables do not say which instance of a mapped task it is.
    """
    passed = calling_task(environ)
    index = passed.get("map_index", "-1")
    own = {
        "dag": environ.get("AIRFLOW_CTX_DAG_ID"),
        "task": environ.get("AIRFLOW_CTX_TASK_ID"),
        "run": environ.get("AIRFLOW_CTX_DAG_RUN_ID"),
        "try": environ.get("AIRFLOW_CTX_TRY_NUMBER"),
    }
    if "dag_id" not in passed:
        return own
    return {
        "dag": passed["dag_id"],
        "task": passed.get("task_id"),
        "run": passed.get("run_id"),
        "instance": None if index == "-1" else index,
        "try": passed.get("try_number"),
        "page": passed.get("url"),
        "trace": passed.get("traceparent"),
    }


def prefect(environ: Mapping[str, str], argv: Sequence[str]) -> Values:
    """Return flow and page of a flow run: its process knows entrypoint and API."""
    # The entrypoint is "flows/etl.py:nightly_etl"; a flow's default name has hyphens.
    function = environ.get("PREFECT__FLOW_ENTRYPOINT", "").rpartition(":")[2]
    flow = environ.get("PREFECT__FLOW_NAME") or function.rpartition(".")[2].replace(
        "_", "-"
    )
    return {
        "flow": flow or environ.get("PREFECT__DEPLOYMENT_NAME"),
        "ui": _prefect_ui(environ),
    }


def _prefect_ui(environ: Mapping[str, str]) -> str:
    known = environ.get("PREFECT_UI_URL", "").rstrip("/")
    api = environ.get("PREFECT_API_URL", "").rstrip("/")
    if known or not api:
        return known
    if match := _CLOUD_API.search(api):
        return "https://app.prefect.cloud/account/{}/workspace/{}".format(
            *match.groups()
        )
    return api.removesuffix("/api")


def argo(environ: Mapping[str, str], argv: Sequence[str]) -> Values:
    """Return workflow and template of a node."""
    node = environ.get("ARGO_NODE_ID", "")
    try:
        template = str(json.loads(environ.get("ARGO_TEMPLATE") or "{}")["name"])
    except (ValueError, KeyError, TypeError):
        template = None
    workflow, _, digest = node.rpartition("-")
    # A node is "<workflow>-<hash>" and its pod "<workflow>-<template>-<hash>"; the only
    # node of a workflow is called as the workflow itself.
    pod = environ.get("HOSTNAME") or environ.get("KFP_POD_NAME", "")
    if pod == node or not digest.isdigit():
        workflow = node
    return {
        "workflow": environ.get("ARGO_WORKFLOW_NAME") or workflow,
        "template": template,
    }


def kubeflow(environ: Mapping[str, str], argv: Sequence[str]) -> Values:
    """Return pipeline, run and component: every component has the same template."""
    pod = environ.get("KFP_POD_NAME")
    workflow = argo(environ, argv)["workflow"] or pod
    component = dict(pairwise(argv)).get("--function_to_execute")
    return {
        "known": pod or environ.get("KFP_RUN_ID"),
        "workflow": workflow,
        "pipeline": environ.get("KFP_PIPELINE_NAME") or stable(workflow or ""),
        "component": component,
        "part": component or script_of(argv),
    }


def dagster(environ: Mapping[str, str], argv: Sequence[str]) -> Values:
    """Return the run of Dagster, whose pod is named after it."""
    pod = environ.get("HOSTNAME", "")
    named = _UUID.search(pod) if pod.startswith("dagster-run-") else None
    return {"run": environ.get("DAGSTER_RUN_ID") or (named and named[0])}


def github(environ: Mapping[str, str], argv: Sequence[str]) -> Values:
    """Return which leg of a matrix this is: `<plan>.<job>.<value>.<value>`.

    A job without a matrix ends in `__default`.
    """
    job = environ.get("GITHUB_JOB", "")
    _, found, leg = environ.get("ACTIONS_ORCHESTRATION_ID", "").partition(f".{job}.")
    return {"leg": leg if job and found and leg != "__default" else None}


def azure(environ: Mapping[str, str], argv: Sequence[str]) -> Values:
    """Return which leg of a matrix this is: a job without one has the name `__default`."""
    name = environ.get("SYSTEM_JOBNAME")
    return {"leg": None if name == "__default" else name}


def codebuild(environ: Mapping[str, str], argv: Sequence[str]) -> Values:
    """Return the project of a build, whose id is `<project>:<uuid>`."""
    return {"project": environ.get("CODEBUILD_BUILD_ID", "").partition(":")[0]}


def cloud_run(environ: Mapping[str, str], argv: Sequence[str]) -> Values:
    """Return which of several tasks of an execution this is."""
    return {"task": _piece(environ, "CLOUD_RUN_TASK_INDEX", "CLOUD_RUN_TASK_COUNT")}


def circle(environ: Mapping[str, str], argv: Sequence[str]) -> Values:
    """Return which of several parallel runs of a job this is."""
    return {"node": _piece(environ, "CIRCLE_NODE_INDEX", "CIRCLE_NODE_TOTAL")}


def _piece(environ: Mapping[str, str], index: str, total: str) -> str | None:
    return environ.get(index) if number(environ.get(total), 1) > 1 else None


def lsf(environ: Mapping[str, str], argv: Sequence[str]) -> Values:
    """Return name, place in its array and restart of an LSF job.

    A job without a name is called by its whole command line, which is no name; the index of
    a job that is in no array is 0; of a restart, LSF says only that it is one.
    """
    name = environ.get("LSB_JOBNAME", "").partition("[")[0]
    index = environ.get("LSB_JOBINDEX", "0")
    return {
        "name": None if re.search(r"[\s/]", name) else name,
        "index": None if index == "0" else index,
        "restarts": "1" if environ.get("LSB_RESTART") == "Y" else "0",
    }


def grid_engine(environ: Mapping[str, str], argv: Sequence[str]) -> Values:
    """Return the task of an array; of a job without one it is `undefined`."""
    task = environ.get("SGE_TASK_ID")
    return {"task": None if task == "undefined" else task}


_ATTRIBUTE = bounded(
    r'^\s{0,9}(\w{1,99})\s{0,9}=\s{0,9}"?([^"\n]{0,999})"?\s{0,9}$', re.MULTILINE
)


def condor(environ: Mapping[str, str], argv: Sequence[str]) -> Values:
    """Return what the job's ad says, a file of lines `Name = value`."""
    ad = dict(_ATTRIBUTE.findall(_text(environ.get("_CONDOR_JOB_AD"))))
    cluster, process = ad.get("ClusterId"), ad.get("ProcId")
    return {
        "run": f"{cluster}.{process}" if cluster and process else None,
        "name": ad.get("JobBatchName"),
        "starts": ad.get("NumShadowStarts"),
        "owner": ad.get("Owner"),
    }


_ECS_TASK = bounded(r"/v[34]/([0-9a-f]{32})-\d{1,20}$")


def ecs(environ: Mapping[str, str], argv: Sequence[str]) -> Values:
    """Return task and family from the metadata file; on Fargate, the task from an address."""
    described = _json(environ.get("ECS_CONTAINER_METADATA_FILE"))
    address = environ.get("ECS_CONTAINER_METADATA_URI_V4") or environ.get(
        "ECS_CONTAINER_METADATA_URI"
    )
    task = described.get("TaskARN", "").rpartition("/")[2]
    if not task and address and (match := _ECS_TASK.search(address)):
        task = match[1]
    return {
        "address": address,
        "task": task,
        "family": described.get("TaskDefinitionFamily"),
        "cluster": described.get("Cluster"),
    }


def sagemaker(environ: Mapping[str, str], argv: Sequence[str]) -> Values:
    """Return the name of a training job, or of a processing job, which has a file."""
    named = environ.get("TRAINING_JOB_NAME")
    return {"job": named or _json(PROCESSING_JOB).get("ProcessingJobName")}


def kubernetes(environ: Mapping[str, str], argv: Sequence[str]) -> Values:
    """Return what a pod belongs to, by its name; one that stands alone belongs to nothing."""
    pod = environ.get("HOSTNAME", "") if "KUBERNETES_SERVICE_HOST" in environ else ""
    owner, is_job = _owner_of(pod, environ)
    # A name that holds an id names a run: `dagster-run-<uuid>-x7k2p`.
    named = _UUID.search(owner)
    scheduled = _OF_A_CRONJOB.fullmatch(pod)
    return {
        "pod": pod,
        "owner": _of_all_runs(owner, argv, is_job=is_job),
        "run": named and named[0],
        "minute": scheduled and scheduled["minute"],
        "namespace": _text(NAMESPACE).strip() if pod else None,
    }


def _owner_of(pod: str, environ: Mapping[str, str]) -> tuple[str, bool]:
    """Return what a pod belongs to, and whether that is a Job, which may be new for each run.

    Pods are called `<job>-<5 letters>`, `<cronjob>-<minute>-<5 letters>`,
    `<deployment>-<hash>-<5 letters>`, `<indexed job>-<index>` and `<stateful set>-<index>`; the
    one that runs a `DaskJob` is called `<job>-runner`.
    """
    runs = pod.removesuffix("-runner")
    if f"//{runs}-scheduler." in environ.get("DASK_SCHEDULER_ADDRESS", ""):
        return runs, True
    if index := environ.get("JOB_COMPLETION_INDEX"):
        return pod.removesuffix(f"-{index}"), False
    for shape in (_OF_A_CRONJOB, _OF_A_DEPLOYMENT, _OF_A_JOB):
        if found := shape.fullmatch(pod):
            return found["name"], shape is _OF_A_JOB
    return "", False


def _of_all_runs(owner: str, argv: Sequence[str], *, is_job: bool) -> str:
    """Return the name of what a pod belongs to, without what differs from run to run.

    Where a new Job is made for each run, its name holds the day, a hash, or letters that
    Kubernetes made.  As a person may have chosen such letters, the script then tells jobs apart.
    """
    name = stable(f"-{owner}", generated=False).strip("-")
    prefix = stable(f"-{name}").strip("-")
    if not is_job or prefix == name:
        return name
    return joined(prefix, script_of(argv))


_NO_JOB = bounded(r"user@\d{1,20}\.service|.{0,300}\.scope")


def systemd(environ: Mapping[str, str], argv: Sequence[str]) -> Values:
    """Return the unit that started this process, itself or through one shell.

    What a service starts inherits its variables, so that they alone are no evidence: `cron`
    and agents of CI services are services, too.
    """
    started = environ.get("SYSTEMD_EXEC_PID")
    ours = {str(os.getpid()), str(os.getppid())}
    if not environ.get("INVOCATION_ID") or (
        started not in ours if started else os.getppid() != 1
    ):
        return {}
    folders = [line.rpartition(":")[2] for line in _text(CGROUP).splitlines()]
    units = [PurePath(folder).name for folder in folders]
    unit = next((each for each in units if each.endswith(".service")), "")
    if _NO_JOB.fullmatch(unit):
        return {}
    return {"unit": unit.removesuffix(".service"), "whole": unit}


def _text(path: str | Path | None) -> str:
    try:
        with Path(path or "").open("rb") as file:
            return file.read(_MOST).decode("utf-8", "replace")
    except OSError:
        return ""


def _json(path: str | Path | None) -> dict[str, str]:
    """Return the texts of a JSON object."""
    try:
        found = json.loads(_text(path) or "{}")
    except ValueError:
        return {}
    if not isinstance(found, dict):
        return {}
    return {name: value for name, value in found.items() if isinstance(value, str)}
