"""Every row of the table of schedulers, combinations of them, and what none of them knows."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.config
import pytest
from dask_blackbox.cli.doctor import checks
from dask_blackbox.identity import (
    SCHEDULERS,
    Identity,
    derived,
    identity_from_environment,
)
from dask_blackbox.identity.scheduler import Scheduler
from dask_blackbox.manifest import Manifest
from dask_blackbox.recorder.redact import Redactor
from dask_blackbox.store import store_settings

ETL = ["/srv/jobs/etl.py", "--day", "2026-11-21"]
CASES: list[dict[str, Any]] = tomllib.loads(
    (Path(__file__).parent / "data" / "schedulers.toml").read_text("utf-8")
)["case"]


def _environ(kind: str, number: int = 0) -> dict[str, str]:
    """Return the environment of one of the cases of a kind."""
    return dict([each for each in CASES if each["kind"] == kind][number]["environ"])


def _facts(identity: Identity) -> tuple[str, str, int, object]:
    return identity.job, identity.run_id, identity.attempt, identity.host["kind"]


def _within(identity: Identity) -> list[Any]:
    around: Any = identity.host.get("within", [])
    return [each["kind"] for each in around]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["kind"])
def test_a_scheduler_says_which_job_run_and_attempt_this_is(
    case: dict[str, Any], tmp_path: Path
) -> None:
    environ = dict(case["environ"])
    for name, text in case.get("files", {}).items():
        (tmp_path / name).write_text(text.replace("\\n", "\n"))
        environ[name] = str(tmp_path / name)

    found = identity_from_environment(environ, ETL)

    assert (found.job, found.attempt) == (case["job"], case.get("attempt", 1))
    assert found.host["kind"] == case["kind"]
    for fact in ("url", "leg", "job_from"):
        assert found.host.get(fact) == case.get(fact), fact
    if "run" in case:
        assert found.run_id == case["run"]
    else:  # a new id each time
        assert found.run_id != identity_from_environment(environ, ETL).run_id


def test_every_row_has_a_case_and_its_source() -> None:
    assert {row.kind for row in SCHEDULERS} == {each["kind"] for each in CASES} | {
        "systemd"  # below: it needs the process itself
    }
    assert not [row for row in SCHEDULERS if not row.source.startswith("https://")]


@pytest.mark.parametrize("kind", [row.kind for row in SCHEDULERS])
def test_a_variable_less_than_a_scheduler_sets_is_not_that_scheduler(kind: str) -> None:
    rows = [row for row in SCHEDULERS if row.kind == kind]
    needs = {name.partition("=")[0] for row in rows for name in row.known_by}

    found = identity_from_environment(dict.fromkeys(needs, ""), ETL)

    assert found.host["kind"] == "shell"


@pytest.mark.parametrize(
    ("inner", "outer"),
    [
        ("airflow", "slurm"),
        ("airflow", "kubernetes"),
        ("prefect", "aws-batch"),
        ("github", "kubernetes"),
        ("github", "slurm"),
        ("gitlab", "kubernetes"),
        ("jenkins", "ecs"),
        ("slurm", "databricks"),
        ("sagemaker", "kubernetes"),
        ("dagster", "cloud-run"),
    ],
)
def test_the_innermost_scheduler_that_names_the_job_decides(
    inner: str, outer: str
) -> None:
    alone = identity_from_environment(_environ(inner), ETL)

    both = identity_from_environment(_environ(outer) | _environ(inner), ETL)

    assert both.job == alone.job
    assert both.attempt == alone.attempt
    assert both.host["kind"] == inner
    assert outer in _within(both)


def test_one_that_names_neither_job_nor_run_leaves_both_to_the_next() -> None:
    pod = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "HOSTNAME": "nightly-29394780-x7k2p"}

    found = identity_from_environment(_environ("databricks") | pod, ETL)

    assert _facts(found)[0] == "nightly"
    assert (found.host["kind"], _within(found)) == ("kubernetes", ["databricks"])


@pytest.mark.parametrize(
    ("pods", "job"),
    [
        (("etl-20261121-x7k2p", "etl-20261122-b4d9f"), "etl"),
        (("etl-2026-11-21-x7k2p", "etl-2026-11-22-b4d9f"), "etl"),
        (("etl-1763694000-x7k2p", "etl-1763780400-b4d9f"), "etl"),
        (
            ("orders-7f2a91-load-x7k2p", "orders-7f2a91-load-b4d9f"),
            "orders-7f2a91-load",
        ),
        (("etl-7f2a91c-load-x7k2p", "etl-08bb31c-load-b4d9f"), "etl-load"),
        (
            (
                "dagster-step-c4ca4238a0b923820dcc509a6f75849b-x7k2p",
                "dagster-step-c81e728d9d4c2f636f067f89cc14862c-b4d9f",
            ),
            "dagster-step",
        ),
        (("load-x7k2p-x7k2p", "load-b4d9f-b4d9f"), "load.etl"),  # by `generateName`
        (("load-mssql-29394780-x7k2p", "load-mssql-29396220-b4d9f"), "load-mssql"),
        (("load-mssql-7c9f5d4b8-x7k2p", "load-mssql-84bd9c6f5-b4d9f"), "load-mssql"),
        (("nightly-run-x7k2p-load-pod", "nightly-run-b4d9f-load-pod"), "etl"),  # Tekton
        (("x7k2p-x7k2p", "b4d9f-b4d9f"), "etl"),
    ],
)
def test_a_pod_of_a_job_that_is_new_each_night_is_the_same_job(
    pods: tuple[str, str], job: str
) -> None:
    found = [
        identity_from_environment(
            {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "HOSTNAME": pod}, ETL
        )
        for pod in pods
    ]

    assert [each.job for each in found] == [job, job]


def test_legs_of_a_matrix_are_jobs_of_their_own_and_a_rerun_is_an_attempt() -> None:
    environ = _environ("github", 1)
    plan, other = "89c72d20-71e7-4948-8eb8-0d8f0e417443", "load.us.3_12"

    leg = identity_from_environment(environ, ETL)
    second = identity_from_environment(
        environ | {"ACTIONS_ORCHESTRATION_ID": f"{plan}.{other}"}, ETL
    )
    again = identity_from_environment(environ | {"GITHUB_RUN_ATTEMPT": "2"}, ETL)

    assert leg.job != second.job
    assert (leg.run_id, leg.attempt) == (second.run_id, second.attempt)
    assert (again.job, again.run_id, again.attempt) == (leg.job, leg.run_id, 2)


def test_a_leg_that_the_scheduler_does_not_say_is_set() -> None:
    environ = _environ("jenkins")
    with dask.config.set({"blackbox.leg": "eu"}):
        found = identity_from_environment(environ, ETL)
    with dask.config.set({"blackbox.leg": "eu", "blackbox.job": "orders"}):
        named = identity_from_environment(environ, ETL)

    assert (found.job, found.host["leg"]) == ("data/nightly.etl.eu", "eu")
    assert named.job == "orders.eu"


@pytest.mark.parametrize(
    ("set_to", "attempt"), [(4, 4), ("4", 4), ("", 2), ("x", 2), (0, 2)]
)
def test_an_attempt_that_the_scheduler_does_not_say_is_set(
    set_to: object, attempt: int
) -> None:
    with dask.config.set({"blackbox.attempt": set_to}):
        found = identity_from_environment(_environ("github"), ETL)

    assert found.attempt == attempt


@pytest.mark.parametrize(
    ("environ", "unknown"),
    [
        ({}, None),
        ({"CI": "true", "WOODPECKER_BUILD": "7"}, "CI"),
        ({"FUTURE_SCHEDULER_JOB": "nightly", "FUTURE_SCHEDULER_RUN": "7"}, None),
    ],
)
def test_an_unknown_scheduler_leaves_the_name_to_the_script_and_that_is_said(
    environ: dict[str, str], unknown: str | None
) -> None:
    found = identity_from_environment(environ, ETL)

    assert (found.job, found.host["kind"]) == ("etl", "shell")
    assert found.host["job_from"] == "script"
    assert found.host.get("unknown_scheduler") == unknown


@pytest.mark.parametrize(
    "variables",
    [
        {"name": "x", "run": "x", "index": "x"},  # names of derived values
        {"leg": "x", "task": "x", "node": "x", "pod": "x", "unit": "x", "job": "x"},
    ],
)
def test_a_variable_in_lower_case_is_not_taken_for_a_derived_value(
    variables: dict[str, str],
) -> None:
    for case in CASES:
        if "files" not in case:
            plain = identity_from_environment(case["environ"], ETL)
            found = identity_from_environment(case["environ"] | variables, ETL)
            assert (found.job, found.host) == (plain.job, plain.host)


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://ci.example.com/7", "https://ci.example.com/7"),
        ("https://ada:secret@ci.example.com/7", "https://ci.example.com/7"),
        ("javascript:alert(1)", None),
        ("file:///etc/passwd", None),
        ("https://ci.example.com/a b", None),
        ("https://ci.example.com/" + "x" * 9_000, None),
    ],
)
def test_a_link_is_an_address_of_a_page_without_a_password(
    url: str, kept: str | None
) -> None:
    found = identity_from_environment(_environ("jenkins") | {"BUILD_URL": url}, ETL)

    assert found.host.get("url") == kept


def test_secrets_in_what_a_scheduler_says_are_masked_as_everywhere() -> None:
    token = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
    address = {"BUILD_URL": f"https://ci.example.com/7?token={token}"}
    inner = identity_from_environment(_environ("jenkins") | address, ETL)
    outer = identity_from_environment(
        _environ("jenkins") | address | _environ("airflow"), ETL
    )
    for found in (inner, outer):
        written = Manifest(
            recording="r",
            job=found.job,
            run_id=found.run_id,
            started=0,
            host=found.host,
        )
        assert token in str(written)

        assert token not in str(Redactor().manifest(written))


@pytest.mark.parametrize(
    ("cgroup", "unit"),
    [
        ("0::/system.slice/nightly.service\n", "nightly"),
        ("12:memory:/system.slice/etl@eu.service\n1:name=systemd:/\n", "etl@eu"),
        ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/x.scope\n", None),
        ("0::/user.slice/user-1000.slice/user@1000.service\n", None),
        ("0::/\n", None),
    ],
    ids=["service", "version 1", "scope", "user", "none"],
)
@pytest.mark.parametrize("started", [os.getpid, os.getppid])
def test_a_unit_of_systemd_is_the_job_of_what_it_started(
    cgroup: str,
    unit: str | None,
    started: Callable[[], int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "cgroup").write_text(cgroup)
    monkeypatch.setattr(derived, "CGROUP", tmp_path / "cgroup")
    environ = {"INVOCATION_ID": "ab12", "SYSTEMD_EXEC_PID": str(started())}

    found = identity_from_environment(environ, ETL)
    inherited = identity_from_environment(environ | {"SYSTEMD_EXEC_PID": "1"}, ETL)

    assert inherited.job == "etl"
    assert found.job == (unit or "etl")
    if unit:
        assert (found.run_id, found.host["kind"]) == ("ab12", "systemd")


def test_a_processing_job_of_sagemaker_is_named_by_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = tmp_path / "processingjobconfig.json"
    described.write_text('{"ProcessingJobName": "nightly-2026-11-21-03-00-07-123"}')
    monkeypatch.setattr(derived, "PROCESSING_JOB", described)

    found = identity_from_environment({}, ETL)

    assert _facts(found) == (
        "nightly.etl",
        "nightly-2026-11-21-03-00-07-123",
        1,
        "sagemaker",
    )


@pytest.mark.parametrize("text", ["", "{", "[1]", "ClusterId = 204", "\x00" * 99])
def test_a_file_that_says_nothing_leaves_a_run_of_its_own(
    text: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text(text)
    file = str(tmp_path / "file")
    for name in ("_CONDOR_JOB_AD", "ECS_CONTAINER_METADATA_FILE"):
        assert identity_from_environment({name: file}, ETL).job == "etl"


PAGE = (Path(__file__).parents[2] / "docs" / "add-a-scheduler.md").read_text("utf-8")


def test_the_page_lists_every_row_with_its_source() -> None:
    listed = re.findall(r"^\| \[([\w-]+)\]\(([^)]+)\) \|", PAGE, re.MULTILINE)

    assert listed == [(row.kind, row.source) for row in SCHEDULERS]


def test_the_example_of_the_page_is_right_as_it_is_corrected_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row, function = re.findall(r"```python\n(.+?)```", PAGE, re.DOTALL)
    (case,) = re.findall(r"```toml\n(.+?)```", PAGE, re.DOTALL)
    (expected,) = tomllib.loads(case)["case"]
    names: dict[str, Any] = dict(vars(derived)) | {"Scheduler": Scheduler}
    exec(function, names)
    first = eval(row, names)
    corrected = first._replace(derive=names["nomad"], job=("{job}",))

    def found_by(nomad: Scheduler) -> Identity:
        monkeypatch.setattr("dask_blackbox.identity.SCHEDULERS", (nomad, *SCHEDULERS))
        return identity_from_environment(expected["environ"], ETL)

    wrong, right = found_by(first), found_by(corrected)
    assert "periodic" in wrong.job
    assert _facts(right) == (expected["job"], expected["run"], 1, "nomad")


@pytest.mark.parametrize(
    ("environ", "state", "said"),
    [
        ({"JENKINS_URL": "x", "JOB_NAME": "n", "BUILD_NUMBER": "1"}, "ok", "job 'n'"),
        ({}, "ok", "no known scheduler: a run is named after its script"),
        ({"CI": "true"}, "warning", "no known scheduler"),
        ({"AWS_BATCH_JOB_ID": "7"}, "ok", "aws-batch: a run is named after its script"),
    ],
)
def test_doctor_says_who_names_the_runs(
    environ: dict[str, str], state: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in {"CI", "GITHUB_ACTIONS", "HOSTNAME", "INVOCATION_ID"} - set(environ):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)

    check = next(each for each in checks(None, None) if each.what == "identity")

    assert (check.state, said in check.result) == (state, True)


def test_a_task_that_passes_itself_on_gives_its_store_unless_one_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said = {"dag_id": "d", "store": str(tmp_path / "theirs")}
    monkeypatch.setenv("BLACKBOX_TASK", json.dumps(said))

    with dask.config.set({"blackbox.store.url": str(tmp_path / "own")}):
        assert store_settings()["url"] == str(tmp_path / "theirs")
        assert store_settings(tmp_path / "x")["url"] == str(tmp_path / "x")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"dag_id": 3}', "{}" + " " * 20_000])
def test_a_task_that_says_nothing_readable_is_none(text: str) -> None:
    found = identity_from_environment({"BLACKBOX_TASK": text}, ETL)

    assert found.host["kind"] == "shell"
