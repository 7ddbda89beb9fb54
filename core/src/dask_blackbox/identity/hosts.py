"""Who started the run: Airflow, Prefect and their kind, CI services, batch systems, a shell."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path, PurePath
from typing import NamedTuple
from urllib.parse import quote

import msgspec

from dask_blackbox.manifest import HostFact
from dask_blackbox.patterns import bounded

_PASSWORD = bounded(r"//[^/@\s]*@")


class Identity(msgspec.Struct, kw_only=True, frozen=True):
    """Job, run, attempt and host of a run.

    Attributes:
        job: Job name; runs of one job are compared.
        run_id: Run id. Default: derived from host and start time.
        attempt: Which try of that run, from 1.
        host: What started the run: `kind` (airflow, prefect, github, shell, …), `url` of
            its page where the environment has it, and whatever else names it there.
    """

    job: str
    run_id: str
    attempt: int = 1
    host: dict[str, HostFact] = {}


def filled(**facts: str | None) -> dict[str, HostFact]:
    """Return the facts that are known, without passwords in URLs."""
    return {name: _PASSWORD.sub("//", fact) for name, fact in facts.items() if fact}


def joined(*parts: str | None) -> str:
    """Return the known parts joined by dots, without repetitions."""
    known: list[str] = []
    for part in parts:
        if part and part not in known:
            known.append(part)
    return ".".join(known)


def number(text: str | None, default: int) -> int:
    """Return `text` as a number, `default` where it is none."""
    try:
        return int(text or default)
    except ValueError:
        return default


def script_of(argv: Sequence[str]) -> str | None:
    """Return the name of what was started (`etl` for `python jobs/etl.py`), if it has one."""
    path = PurePath(argv[0] if argv else "")
    if path.name in {"", "-", "-c", "-m"}:
        return None
    # `python -m package` arrives as the path of package/__main__.py.
    return path.parent.name or None if path.name == "__main__.py" else path.stem


_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")

_OF_A_JOB = bounded(
    r"""
    (?P<job>.+?)
    (?:-(?P<minute>\d{8}))?                       # a CronJob's: minutes since 1970
    -[bcdfghjklmnpqrstvwxz2456789]{5}             # what Kubernetes appends
    """,
    re.VERBOSE,
)


def from_slurm(environ: Mapping[str, str], argv: Sequence[str]) -> Identity | None:
    """Slurm: a requeued job keeps its id, and counts its restarts from 0."""
    run = environ.get("SLURM_JOB_ID")
    if not run:
        return None
    array, index = (
        environ.get("SLURM_ARRAY_JOB_ID"),
        environ.get("SLURM_ARRAY_TASK_ID"),
    )
    return Identity(
        job=joined(environ.get("SLURM_JOB_NAME"), script_of(argv)) or "slurm-job",
        run_id=f"{array}_{index}" if array and index else run,
        attempt=number(environ.get("SLURM_RESTART_COUNT"), 0) + 1,
        host=filled(
            kind="slurm",
            job_id=run,
            cluster=environ.get("SLURM_CLUSTER_NAME"),
            partition=environ.get("SLURM_JOB_PARTITION"),
            submitted_from=environ.get("SLURM_SUBMIT_DIR"),
        ),
    )


def from_kubernetes(environ: Mapping[str, str], argv: Sequence[str]) -> Identity | None:
    """Kubernetes names a pod after its Job; the attempt is unknown.

    A container that is started again in its pod has the same host name, so that the run
    is named by its moment.
    """
    pod = environ.get("HOSTNAME")
    if not pod or not environ.get("KUBERNETES_SERVICE_HOST"):
        return None
    match = _OF_A_JOB.fullmatch(pod)
    index = environ.get("JOB_COMPLETION_INDEX")
    of_a_job = pod.removesuffix(f"-{index}") if index else match and match["job"]
    return Identity(
        job=of_a_job or script_of(argv) or pod,
        run_id=fresh_run_id(),
        host=filled(
            kind="kubernetes",
            pod=pod,
            namespace=_namespace(),
            scheduled=match["minute"] if match else None,
            index=index,
        ),
    )


def _namespace() -> str | None:
    try:
        return _NAMESPACE.read_text().strip()
    except OSError:
        return None


def from_github(environ: Mapping[str, str], argv: Sequence[str]) -> Identity | None:
    """GitHub Actions: a run keeps its id when it is run again, and counts attempts."""
    run = environ.get("GITHUB_RUN_ID")
    if not run or environ.get("GITHUB_ACTIONS") != "true":
        return None
    attempt = number(environ.get("GITHUB_RUN_ATTEMPT"), 1)
    server = environ.get("GITHUB_SERVER_URL", "https://github.com").rstrip("/")
    repository = environ.get("GITHUB_REPOSITORY")
    page = f"{server}/{repository}/actions/runs/{run}/attempts/{attempt}"
    return Identity(
        job=joined(
            environ.get("GITHUB_WORKFLOW"), environ.get("GITHUB_JOB"), script_of(argv)
        ),
        run_id=run,
        attempt=attempt,
        host=filled(
            kind="github",
            url=repository and page,
            repository=repository,
            commit=environ.get("GITHUB_SHA"),
            ref=environ.get("GITHUB_REF"),
            event=environ.get("GITHUB_EVENT_NAME"),
            step=environ.get("GITHUB_ACTION"),
        ),
    )


def from_gitlab(environ: Mapping[str, str], argv: Sequence[str]) -> Identity | None:
    """GitLab CI: a job that is run again gets a new id, so there are no attempts."""
    run = environ.get("CI_JOB_ID")
    if not run or not environ.get("GITLAB_CI"):
        return None
    return Identity(
        job=joined(
            environ.get("CI_PROJECT_PATH", "").rpartition("/")[2],
            environ.get("CI_JOB_NAME"),
            script_of(argv),
        ),
        run_id=run,
        host=filled(
            kind="gitlab",
            url=environ.get("CI_JOB_URL"),
            project=environ.get("CI_PROJECT_PATH"),
            pipeline=environ.get("CI_PIPELINE_ID"),
            commit=environ.get("CI_COMMIT_SHA"),
            ref=environ.get("CI_COMMIT_REF_NAME"),
        ),
    )


def from_jenkins(environ: Mapping[str, str], argv: Sequence[str]) -> Identity | None:
    """Jenkins: builds are numbered within their job."""
    run, name = environ.get("BUILD_NUMBER"), environ.get("JOB_NAME")
    if not (run and name and environ.get("JENKINS_URL")):
        return None
    return Identity(
        job=joined(name, script_of(argv)),
        run_id=run,
        host=filled(
            kind="jenkins",
            url=environ.get("BUILD_URL"),
            node=environ.get("NODE_NAME"),
            commit=environ.get("GIT_COMMIT"),
        ),
    )


def fresh_run_id() -> str:
    """Return an id for a run without one: `2026-11-21T03-00-07Z-4f2a`.

    It sorts by time; two runs of one second differ.
    """
    return f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%SZ}-{secrets.token_hex(2)}"


def from_shell(environ: Mapping[str, str], argv: Sequence[str]) -> Identity:
    """Name the job after the script or the notebook, and the run after its moment."""
    script = script_of(argv)
    notebook = environ.get("JPY_SESSION_NAME")
    kernel = script == "ipykernel_launcher"
    if kernel:
        script = PurePath(notebook).stem if notebook else "notebook"
    return Identity(
        job=script or "python",
        run_id=fresh_run_id(),
        host=filled(
            kind="notebook" if kernel else "shell",
            user=environ.get("USER") or environ.get("LOGNAME"),
        ),
    )


_GENERATED = bounded(r"-(?:[bcdfghjklmnpqrstvwxz2456789]{5}|\d{10})$")


"""What Kubernetes appends for `generateName`, and Argo for a scheduled time."""


_CLOUD_API = bounded(r"/api/accounts/([^/]+)/workspaces/([^/]+)$")


def from_airflow(environ: Mapping[str, str], argv: Sequence[str]) -> Identity | None:
    """Airflow sets `AIRFLOW_CTX_*` while a task runs (not the index of a mapped one)."""
    dag, task = environ.get("AIRFLOW_CTX_DAG_ID"), environ.get("AIRFLOW_CTX_TASK_ID")
    run = environ.get("AIRFLOW_CTX_DAG_RUN_ID")
    if not (dag and task and run):
        return None
    base = environ.get("AIRFLOW__API__BASE_URL", "").rstrip("/")
    page = f"/dags/{quote(dag)}/runs/{quote(run, safe='')}/tasks/{quote(task)}"
    return Identity(
        job=f"{dag}.{task}",
        run_id=run,
        attempt=number(environ.get("AIRFLOW_CTX_TRY_NUMBER"), 1),
        host=filled(
            kind="airflow",
            url=base and base + page,
            dag_id=dag,
            task_id=task,
            owner=environ.get("AIRFLOW_CTX_DAG_OWNER"),
            logical_date=environ.get("AIRFLOW_CTX_LOGICAL_DATE"),
        ),
    )


def from_prefect(environ: Mapping[str, str], argv: Sequence[str]) -> Identity | None:
    """Prefect starts a flow run's process with `PREFECT__FLOW_RUN_ID`."""
    run = environ.get("PREFECT__FLOW_RUN_ID")
    if not run:
        return None
    # The entrypoint is "flows/etl.py:nightly_etl"; a flow's default name has hyphens.
    function = environ.get("PREFECT__FLOW_ENTRYPOINT", "").rpartition(":")[2]
    flow = environ.get("PREFECT__FLOW_NAME") or function.rpartition(".")[2].replace(
        "_", "-"
    )
    deployment = environ.get("PREFECT__DEPLOYMENT_NAME")
    ui = _prefect_ui(environ)
    return Identity(
        job=flow or deployment or "prefect-flow",
        run_id=run,
        host=filled(
            kind="prefect",
            url=ui and f"{ui}/runs/flow-run/{run}",
            flow=flow,
            deployment=deployment,
            worker=environ.get("PREFECT__WORKER_NAME"),
        ),
    )


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


def from_flyte(environ: Mapping[str, str], argv: Sequence[str]) -> Identity | None:
    """Flyte sets `FLYTE_INTERNAL_*`; its attempts count from 0."""
    run = environ.get("FLYTE_INTERNAL_EXECUTION_ID")
    if not run:
        return None
    task = environ.get("FLYTE_INTERNAL_TASK_NAME", "").rpartition(".")[2]
    # A workflow is named with its project, domain and package, by colons and dots.
    workflow = environ.get("FLYTE_INTERNAL_EXECUTION_WORKFLOW", "").rpartition(":")[2]
    return Identity(
        job=joined(workflow.rpartition(".")[2], task) or "flyte-task",
        run_id=run,
        attempt=number(environ.get("FLYTE_ATTEMPT_NUMBER"), 0) + 1,
        host=filled(
            kind="flyte",
            url=environ.get("FLYTE_EXECUTION_URL"),
            project=environ.get("FLYTE_INTERNAL_EXECUTION_PROJECT"),
            domain=environ.get("FLYTE_INTERNAL_EXECUTION_DOMAIN"),
            workflow=workflow,
            task=task,
        ),
    )


class _Node(NamedTuple):
    """A node of an Argo workflow: the workflow's name and the template's."""

    workflow: str
    template: str


def _argo_node(environ: Mapping[str, str]) -> _Node | None:
    node = environ.get("ARGO_NODE_ID", "")
    if not node:
        return None
    try:
        template = str(json.loads(environ.get("ARGO_TEMPLATE") or "{}")["name"])
    except (ValueError, KeyError, TypeError):
        template = ""
    workflow, _, digest = node.rpartition("-")
    # A node is "<workflow>-<hash>" and its pod "<workflow>-<template>-<hash>"; the only
    # node of a workflow is called as the workflow itself.
    pod = environ.get("HOSTNAME") or environ.get("KFP_POD_NAME", "")
    if pod == node or not digest.isdigit():
        workflow = node
    return _Node(environ.get("ARGO_WORKFLOW_NAME") or workflow, template)


def from_kubeflow(environ: Mapping[str, str], argv: Sequence[str]) -> Identity | None:
    """Kubeflow Pipelines runs each component as an Argo node, with `KFP_*` beside it."""
    if not (environ.get("KFP_POD_NAME") or environ.get("KFP_RUN_ID")):
        return None
    node = _argo_node(environ)
    workflow = node.workflow if node else environ.get("KFP_POD_NAME", "")
    run = environ.get("KFP_RUN_ID") or workflow
    pipeline = environ.get("KFP_PIPELINE_NAME") or _GENERATED.sub("", workflow)
    # Every component has the same template; the executor's command line names its function.
    named = dict(pairwise(argv)).get("--function_to_execute")
    return Identity(
        job=joined(pipeline, named or script_of(argv)) or "kubeflow-component",
        run_id=run,
        host=filled(
            kind="kubeflow",
            workflow=workflow,
            pod=environ.get("KFP_POD_NAME"),
            component=named,
        ),
    )


def from_argo(environ: Mapping[str, str], argv: Sequence[str]) -> Identity | None:
    """Argo gives each container the id and the template of its node."""
    node = _argo_node(environ)
    if node is None:
        return None
    return Identity(
        job=joined(_GENERATED.sub("", node.workflow), node.template),
        run_id=environ["ARGO_NODE_ID"],
        host=filled(
            kind="argo",
            workflow=node.workflow,
            template=node.template,
            pod=environ.get("HOSTNAME"),
        ),
    )
