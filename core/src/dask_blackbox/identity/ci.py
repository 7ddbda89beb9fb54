"""CI services: GitHub Actions, GitLab CI and Jenkins.

A CI job may run several scripts, so the script's name is part of ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dask_blackbox.identity.identity import Identity, filled, joined, number, script_of

__all__ = ["from_github", "from_gitlab", "from_jenkins"]


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
