"""Workflow systems: Airflow, Prefect, Flyte, Kubeflow Pipelines and Argo Workflows."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple
from urllib.parse import quote

from dask_blackbox.identity.identity import Identity, filled, joined, number, script_of

__all__ = [
    "from_airflow",
    "from_argo",
    "from_flyte",
    "from_kubeflow",
    "from_prefect",
]

_GENERATED = re.compile(r"-(?:[bcdfghjklmnpqrstvwxz2456789]{5}|\d{10})$")
"""What Kubernetes appends for `generateName`, and Argo for a scheduled time."""

_CLOUD_API = re.compile(r"/api/accounts/([^/]+)/workspaces/([^/]+)$")


def from_airflow(environ: Mapping[str, str], argv: Sequence[str]) -> Identity | None:
    """Airflow says it in `AIRFLOW_CTX_*` while a task runs (not the index of a mapped one)."""
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
    """Flyte says it in `FLYTE_INTERNAL_*`; its attempts count from 0."""
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
