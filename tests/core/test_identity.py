"""Who a run is, reported by the environments that real hosts leave to a process."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import dask.config
import pytest
from dask_blackbox.identity import Identity, identity_from_environment
from dask_blackbox.manifest import own_version

ETL = ["/srv/jobs/etl.py", "--day", "2026-11-21"]

AIRFLOW = {
    "AIRFLOW_CTX_DAG_OWNER": "airflow",
    "AIRFLOW_CTX_DAG_ID": "nightly",
    "AIRFLOW_CTX_TASK_ID": "load.orders",
    "AIRFLOW_CTX_LOGICAL_DATE": "2026-11-21T00:00:00+00:00",
    "AIRFLOW_CTX_TRY_NUMBER": "3",
    "AIRFLOW_CTX_DAG_RUN_ID": "scheduled__2026-11-21T00:00:00+00:00",
}
PREFECT_WORKER = {
    "PREFECT_API_URL": "http://127.0.0.1:4200/api",
    "PREFECT__FLOW_RUN_ID": "5e0ff7c2-8c1d-4c62-a4a2-8d0b4a1f4a3f",
    "PREFECT__STORAGE_BASE_PATH": "/tmp/runner_storage",
    "PREFECT__FLOW_ENTRYPOINT": "flows/nightly.py:nightly_etl",
    "PREFECT__FLOW_NAME": "Nightly ETL",
    "PREFECT__DEPLOYMENT_NAME": "europe",
    "PREFECT__WORKER_NAME": "ProcessWorker 1",
}
PREFECT_SERVE = {
    "PREFECT_API_URL": "https://api.prefect.cloud/api/accounts/acc/workspaces/wsp",
    "PREFECT__FLOW_RUN_ID": "5e0ff7c2-8c1d-4c62-a4a2-8d0b4a1f4a3f",
    "PREFECT__FLOW_ENTRYPOINT": "flows/nightly.py:nightly_etl",
}
FLYTE = {
    "KUBERNETES_SERVICE_HOST": "10.0.0.1",
    "FLYTE_INTERNAL_EXECUTION_WORKFLOW": "sales:production:jobs.nightly.orders",
    "FLYTE_INTERNAL_EXECUTION_ID": "f6f5d0a2a9f1c4",
    "FLYTE_INTERNAL_EXECUTION_PROJECT": "sales",
    "FLYTE_INTERNAL_EXECUTION_DOMAIN": "production",
    "FLYTE_ATTEMPT_NUMBER": "1",
    "FLYTE_INTERNAL_TASK_NAME": "jobs.nightly.load",
}
KUBEFLOW = {
    "KUBERNETES_SERVICE_HOST": "10.0.0.1",
    "HOSTNAME": "sales-pipeline-x7k2p-system-container-impl-1842513374",
    "KFP_POD_NAME": "sales-pipeline-x7k2p-system-container-impl-1842513374",
    "KFP_POD_UID": "0b1c",
    "ARGO_CONTAINER_NAME": "main",
    "ARGO_NODE_ID": "sales-pipeline-x7k2p-1842513374",
    "ARGO_TEMPLATE": '{"name": "system-container-impl"}',
}
ARGO = {
    "KUBERNETES_SERVICE_HOST": "10.0.0.1",
    "HOSTNAME": "nightly-1763694000-load-2938475610",
    "ARGO_CONTAINER_NAME": "main",
    "ARGO_NODE_ID": "nightly-1763694000-2938475610",
    "ARGO_TEMPLATE": '{"name": "load", "container": {}}',
}
GITHUB = {
    "CI": "true",
    "GITHUB_ACTIONS": "true",
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_REPOSITORY": "octo-org/octo-repo",
    "GITHUB_WORKFLOW": "Nightly",
    "GITHUB_JOB": "load",
    "GITHUB_RUN_ID": "1658821493",
    "GITHUB_RUN_ATTEMPT": "2",
    "GITHUB_SHA": "ffac537e6cbbf934b08745a378932722df287a53",
    "GITHUB_REF": "refs/heads/main",
    "GITHUB_EVENT_NAME": "schedule",
    "GITHUB_ACTION": "__run_2",
}
GITLAB = {
    "GITLAB_CI": "true",
    "CI": "true",
    "CI_PROJECT_PATH": "gitlab-org/sales",
    "CI_JOB_NAME": "load",
    "CI_JOB_ID": "50",
    "CI_JOB_URL": "https://gitlab.example.com/gitlab-org/sales/-/jobs/50",
    "CI_PIPELINE_ID": "1212",
}
JENKINS = {
    "JENKINS_URL": "https://jenkins.example.com/",
    "JOB_NAME": "data/nightly",
    "BUILD_NUMBER": "153",
    "BUILD_URL": "https://jenkins.example.com/job/data/job/nightly/153/",
    "NODE_NAME": "agent-1",
}
SLURM = {
    "SLURM_JOB_ID": "8123",
    "SLURM_JOB_NAME": "nightly",
    "SLURM_JOB_PARTITION": "short",
    "SLURM_CLUSTER_NAME": "hpc",
    "SLURM_RESTART_COUNT": "1",
    "SLURM_SUBMIT_DIR": "/home/ada",
}


def _facts(identity: Identity) -> tuple[str, str, int, object]:
    return identity.job, identity.run_id, identity.attempt, identity.host["kind"]


@pytest.mark.parametrize(
    ("environ", "url"),
    [
        (AIRFLOW, None),
        (
            AIRFLOW | {"AIRFLOW__API__BASE_URL": "https://airflow.example.com/"},
            (
                "https://airflow.example.com/dags/nightly/runs/"
                "scheduled__2026-11-21T00%3A00%3A00%2B00%3A00/tasks/load.orders"
            ),
        ),
        (
            PREFECT_WORKER,
            "http://127.0.0.1:4200/runs/flow-run/5e0ff7c2-8c1d-4c62-a4a2-8d0b4a1f4a3f",
        ),
        (
            PREFECT_SERVE,
            (
                "https://app.prefect.cloud/account/acc/workspace/wsp/runs/flow-run/"
                "5e0ff7c2-8c1d-4c62-a4a2-8d0b4a1f4a3f"
            ),
        ),
        (
            PREFECT_WORKER | {"PREFECT_UI_URL": "https://u:secret@ui.example.com"},
            "https://ui.example.com/runs/flow-run/5e0ff7c2-8c1d-4c62-a4a2-8d0b4a1f4a3f",
        ),
        (
            GITHUB,
            "https://github.com/octo-org/octo-repo/actions/runs/1658821493/attempts/2",
        ),
        (GITLAB, "https://gitlab.example.com/gitlab-org/sales/-/jobs/50"),
        (JENKINS, "https://jenkins.example.com/job/data/job/nightly/153/"),
    ],
)
def test_the_page_of_the_run_is_known_where_the_environment_reports_it(
    environ: dict[str, str], url: str | None
) -> None:
    assert identity_from_environment(environ, ETL).host.get("url") == url


def test_a_kubeflow_component_is_named_by_the_function_that_it_executes() -> None:
    argv = ["/kfp/executor_main.py", "--function_to_execute", "train_model"]

    assert identity_from_environment(KUBEFLOW, argv).job == "sales-pipeline.train_model"


def test_the_only_node_of_an_argo_workflow_is_not_shortened() -> None:
    environ = ARGO | {
        "HOSTNAME": "nightly-1763694000",
        "ARGO_NODE_ID": "nightly-1763694000",
    }

    assert identity_from_environment(environ, ETL).job == "nightly.load"


@pytest.mark.parametrize(
    ("pod", "more", "job"),
    [
        ("nightly-etl-29394780-x7k2p", {}, "nightly-etl"),
        ("nightly-etl-x7k2p", {}, "nightly-etl"),
        ("nightly-etl-3", {"JOB_COMPLETION_INDEX": "3"}, "nightly-etl"),
        ("api-7c9f5d4b8-x7k2p", {}, "api"),
        ("api-7c9f5d4b8-zzzzz", {}, "api"),
        ("dagster-run-aaa0b6f8-b717-4aef-a4aa-4e1c590b960f-x7k2p", {}, "dagster-run"),
        ("somebodys-pod", {}, "etl"),
    ],
)
def test_a_pod_is_named_without_what_differs_from_run_to_run(
    pod: str, more: dict[str, str], job: str
) -> None:
    environ = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "HOSTNAME": pod} | more

    identity = identity_from_environment(environ, ETL)

    assert (identity.job, identity.host["kind"]) == (job, "kubernetes")
    assert identity.host["pod"] == pod


@pytest.mark.parametrize(
    ("argv", "environ", "job", "kind"),
    [
        (ETL, {}, "etl", "shell"),
        (["/srv/pipeline/__main__.py"], {}, "pipeline", "shell"),
        (["-c"], {}, "python", "shell"),
        ([""], {}, "python", "shell"),
        ([], {}, "python", "shell"),
        (
            ["/x/ipykernel_launcher.py", "-f", "kernel.json"],
            {},
            "notebook",
            "notebook",
        ),
        (
            ["/x/ipykernel_launcher.py", "-f", "kernel.json"],
            {"JPY_SESSION_NAME": "/home/ada/sales figures.ipynb"},
            "sales figures",
            "notebook",
        ),
    ],
)
def test_without_a_host_the_job_is_the_script_or_the_notebook(
    argv: list[str], environ: dict[str, str], job: str, kind: str
) -> None:
    identity = identity_from_environment(environ, argv)

    assert (identity.job, identity.host["kind"]) == (job, kind)


def test_a_run_without_a_name_is_named_by_its_moment_and_two_never_meet() -> None:
    ids = [identity_from_environment({}, ETL).run_id for _ in range(2)]

    assert ids[0] != ids[1]
    assert all(re.fullmatch(r"[\dT-]{19}Z-[0-9a-f]{4}", run_id) for run_id in ids)
    named = datetime.strptime(ids[0][:20], "%Y-%m-%dT%H-%M-%SZ").replace(tzinfo=UTC)
    assert abs(datetime.now(UTC) - named) < timedelta(minutes=1)


def test_the_settings_have_the_last_word() -> None:
    with dask.config.set({"blackbox.job": "orders", "blackbox.run-id": 7}):
        identity = identity_from_environment(AIRFLOW, ETL)

    assert _facts(identity) == ("orders", "7", 3, "airflow")


@pytest.mark.parametrize(
    "environ",
    [
        {"AIRFLOW_CTX_DAG_ID": "nightly"},
        {"GITHUB_RUN_ID": "1"},
        {"JOB_NAME": "x", "BUILD_NUMBER": "1"},
        {"ARGO_NODE_ID": ""},
    ],
)
def test_half_an_environment_is_no_host(environ: dict[str, str]) -> None:
    assert identity_from_environment(environ, ETL).host["kind"] == "shell"


def test_nonsense_in_a_number_or_a_template_does_no_harm() -> None:
    slurm = identity_from_environment(SLURM | {"SLURM_RESTART_COUNT": "often"}, ETL)
    argo = identity_from_environment(ARGO | {"ARGO_TEMPLATE": "[oops"}, ETL)

    assert slurm.attempt == 1
    assert argo.job == "nightly"


def test_files_that_no_installer_knows_of_have_no_version() -> None:
    assert own_version()
    assert own_version("nobody-has-installed-this") == ""
