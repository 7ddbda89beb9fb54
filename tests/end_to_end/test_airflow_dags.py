"""The demo's DAGs in a real Airflow, recorded into a bucket and seen in a browser."""

from __future__ import annotations

import json
import os
import signal
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import psutil
import pytest
from conditions import flag_of, until
from dask_blackbox.layout import RunAddress
from dask_blackbox.testing import EmbeddedS3
from recorder_processes import recorder_of

ROOT = Path(__file__).parents[2]
COMMANDS = Path(os.environ.get("AIRFLOW_COMMANDS", ROOT / ".venvs" / "airflow" / "bin"))
CHROMIUM = "/usr/bin/chromium"

_RETRIES_WHAT_WAS_KILLED = (3, 1, 2)
"""Before it, Airflow fails a task of any operator that a signal killed, whatever its
retries: https://github.com/apache/airflow/issues/55753, fixed by its pull request 55767."""

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(not COMMANDS.exists(), reason="needs .venvs/airflow"),
    pytest.mark.timeout(600),  # an Airflow, on a busy machine
]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:3])


def _card(s3: EmbeddedS3, job: str, run_id: str, attempt: int = 1) -> Any:
    """Return a card as it lies in the bucket, None while there is none."""
    client = s3.client()
    key = f"{RunAddress.of(job, run_id, attempt).folder}card.json"
    with suppress(client.exceptions.NoSuchKey):
        return json.loads(client.get_object(Bucket=s3.bucket, Key=key)["Body"].read())
    return None


def _fetched(host: Any, url: str | None) -> str:
    """Return what somebody who is logged in gets at a button's address."""
    assert url is not None
    address = urljoin(f"{host.url}/", url)  # as a browser does on Airflow's page
    request = urllib.request.Request(
        address, headers={"Cookie": f"_token={host.token}"}
    )
    try:
        with urllib.request.urlopen(request) as answer:
            assert "text/html" in answer.headers["Content-Type"]
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        raise AssertionError(error.read().decode()) from error


def test_an_etl_is_recorded_and_its_value_is_the_tasks_xcom(
    host: Any, reported: dict[str, Any], s3: EmbeddedS3
) -> None:
    run, task = reported["recorded_etl"], "revenue_by_country"

    assert host.state(run) == "success"
    assert host.xcom(run, task)["lines_read"] == 402_000

    card = _card(s3, f"recorded_etl.{task}", run.run_id)
    assert card["state"] == "succeeded"
    assert card["verdict"] is None
    assert card["numbers"]["tasks"] > 0
    assert card["completeness"]["complete"]


def test_a_run_out_of_memory_is_explained_on_the_tasks_own_pages(
    host: Any, reported: dict[str, Any]
) -> None:
    run, task = reported["out_of_memory"], "bought_together"

    assert host.state(run) == "failed"
    log = host.log(run, task)
    assert any("worker-memory-limit" in line for line in log)
    assert log.index("::group::Full card") < log.index("::endgroup::", -9)

    links = host.links(run, task)
    assert "Bokeh" in _fetched(host, links["Dask performance report"])
    assert not links["Dask dashboard"]


def test_a_task_that_is_killed_is_recorded_as_aborted_and_tried_again(
    host: Any, s3: EmbeddedS3, tmp_path: Path
) -> None:
    flag = tmp_path / "pid"
    run = host.trigger("long", conf={"flag": str(flag)})
    pid = int(flag_of(flag))
    while_it_ran = host.links(run, "wait")
    os.kill(pid, signal.SIGKILL)

    card = until(
        lambda: (
            (card := _card(s3, "long.wait", run.run_id))
            and card["state"] != "running"
            and card
        ),
        interval=0.2,
    )
    assert card["state"] == "aborted"
    assert (
        f"{host.url}/{while_it_ran['Dask run']}"
        == f"{host.page(run, 'wait')}/plugin/dask-run?try_number=1"
    )
    assert while_it_ran["Dask dashboard"].startswith("dask-blackbox/dags/")

    version = host.ask("version")["version"]
    if _numbers(version) < _RETRIES_WHAT_WAS_KILLED:
        assert host.wait(run) == "failed"
        assert host.task(run, "wait")["try_number"] == 1
        return
    assert host.wait(run) == "success"
    assert host.xcom(run, "wait") == version
    assert any(line.startswith("Try 1: ") for line in host.log(run, "wait", attempt=2))
    assert _card(s3, "long.wait", run.run_id, attempt=2)["state"] == "succeeded"


def test_a_task_that_is_marked_as_failed_ends_with_its_recording_and_cluster(
    host: Any, s3: EmbeddedS3, tmp_path: Path
) -> None:
    flag = tmp_path / "pid"
    run = host.trigger("long", conf={"flag": str(flag)})
    process = psutil.Process(int(flag_of(flag)))
    cluster = [*process.children(recursive=True), recorder_of(process.pid)]
    host.set_state(run, "wait", "failed")

    until(
        lambda: not process.is_running() or process.status() == "zombie", interval=0.2
    )
    psutil.wait_procs(cluster, timeout=60)
    assert [each for each in cluster if each.is_running()] == []
    assert _card(s3, "long.wait", run.run_id)["state"] == "aborted"
