"""Batch systems: Slurm, and bare Kubernetes Jobs and CronJobs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from dask_blackbox.identity.identity import Identity, filled, joined, number, script_of
from dask_blackbox.identity.shell import fresh_run_id

__all__ = [
    "from_github",
    "from_gitlab",
    "from_jenkins",
    "from_kubernetes",
    "from_slurm",
]


_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


_OF_A_JOB = re.compile(
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
    """Kubernetes names a pod after its Job; which try it is, it does not say.

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
