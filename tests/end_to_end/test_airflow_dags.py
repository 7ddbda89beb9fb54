"""The demo's DAGs in a real Airflow, recorded into a bucket and seen in a browser."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from dask_blackbox.layout import RunAddress
from dask_blackbox.testing import EmbeddedS3, embedded_s3

ROOT = Path(__file__).parents[2]
COMMANDS = ROOT / ".venvs" / "airflow" / "bin"
CHROMIUM = "/usr/bin/chromium"

pytestmark = [
    pytest.mark.skipif(not COMMANDS.exists(), reason="needs .venvs/airflow"),
    pytest.mark.timeout(600),  # an Airflow, on a busy machine
]

_LONG = """
from datetime import timedelta
from pathlib import Path

from airflow.sdk import DAG
from airflow_dask_blackbox.operators.dask import DaskObservedOperator


def version():
    import airflow

    return airflow.__version__


def wait_for_the_end(flag, ti, client):
    import os, time

    if ti.try_number > 1:
        # On a worker, which may import Airflow, but not this file.
        return client.submit(version).result()
    working = client.submit(time.sleep, 600)
    Path(flag).write_text(str(os.getpid()))
    return working.result()


with DAG(dag_id="long", schedule=None):
    DaskObservedOperator(
        task_id="wait",
        python_callable=wait_for_the_end,
        op_kwargs={"flag": "{{ dag_run.conf['flag'] }}"},
        cluster_kwargs={"n_workers": 1, "threads_per_worker": 1},
        retries=1,
        retry_delay=timedelta(0),
    )
"""


def _demo(name: str) -> Any:
    """Return a module of the demo's folder, which is no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "demo" / f"{name}.py")

    assert spec is not None
    assert spec.loader is not None

    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _until(condition: Callable[[], Any], patience: float = 120.0) -> Any:
    """Return what `condition` answers once that is something."""
    deadline = time.monotonic() + patience
    while not (answer := condition()):
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.2)
    return answer


@pytest.fixture(scope="module")
def s3() -> Iterator[EmbeddedS3]:
    """A bucket."""
    with embedded_s3() as server:
        yield server


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory, s3: EmbeddedS3) -> Iterator[Any]:
    """An Airflow whose tasks are recorded in the bucket."""
    folder = tmp_path_factory.mktemp("airflow")
    data = tmp_path_factory.mktemp("orders")
    _demo("data").make_orders(data)
    shutil.copytree(ROOT / "dags", folder / "dags")
    (folder / "dags" / "long.py").write_text(_LONG)
    environ = {
        **s3.environment,
        "DASK_BLACKBOX_DEMO_DATA": str(data),
        "DASK_BLACKBOX__SPOOL": str(folder / "spool"),
    }
    with _demo("airflow_host").AirflowHost(
        folder / "home", dags=folder / "dags", commands=COMMANDS, environ=environ
    ) as host:
        yield host


@pytest.fixture(scope="module")
def told(host: Any) -> dict[str, Any]:
    """Runs of the demo's DAGs that have ended, by DAG."""
    runs = {name: host.trigger(name) for name in ("recorded_etl", "out_of_memory")}
    for run in runs.values():
        host.wait(run)
    return runs


def _card(s3: EmbeddedS3, job: str, run_id: str, attempt: int = 1) -> Any:
    """Return a card as it lies in the bucket, None while there is none."""
    client = s3.client()
    key = f"{RunAddress.of(job, run_id, attempt).folder}card.json"
    with suppress(client.exceptions.NoSuchKey):
        return json.loads(client.get_object(Bucket=s3.bucket, Key=key)["Body"].read())
    return None


def _fetched(url: str | None) -> str:
    """Return what a browser gets at a button's address."""
    assert url is not None
    with urllib.request.urlopen(url) as answer:
        assert "text/html" in answer.headers["Content-Type"]
        return str(answer.read().decode())


def test_an_etl_is_recorded_and_its_value_is_the_tasks_xcom(
    host: Any, told: dict[str, Any], s3: EmbeddedS3
) -> None:
    run, task = told["recorded_etl"], "revenue_by_country"

    assert host.state(run) == "success"
    assert host.xcom(run, task)["lines_read"] == 402_000

    card = _card(s3, f"recorded_etl.{task}", run.run_id)
    assert card["state"] == "succeeded"
    assert card["verdict"] is None
    assert card["numbers"]["tasks"] > 0
    assert card["completeness"]["complete"]


def test_a_run_out_of_memory_says_so_on_the_tasks_own_pages(
    host: Any, told: dict[str, Any]
) -> None:
    run, task = told["out_of_memory"], "bought_together"

    assert host.state(run) == "failed"
    log = host.log(run, task)
    assert any("worker-memory-limit" in line for line in log)
    assert log.index("::group::The whole card") < log.index("::endgroup::", -9)

    links = host.links(run, task)
    assert "worker-memory-limit" in _fetched(links["Dask report"])
    assert "Bokeh" in _fetched(links["Dask performance report"])
    assert not links["Dask dashboard"]


def test_the_buttons_stand_on_the_tasks_page(
    host: Any, told: dict[str, Any], tmp_path: Path
) -> None:
    if not Path(CHROMIUM).exists():
        pytest.skip("needs Chromium")
    from playwright.sync_api import expect, sync_playwright

    run, task = told["out_of_memory"], "bought_together"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
        )
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.goto(f"{host.page(run, task)}/details")
        button = page.get_by_role("link", name="Dask report")
        expect(button).to_be_visible(timeout=60_000)
        expect(button).to_have_attribute("href", host.links(run, task)["Dask report"])
        expect(page.get_by_role("link", name="Dask performance report")).to_be_visible()
        expect(page.get_by_role("link", name="Dask dashboard")).to_have_count(0)
        page.screenshot(path=os.environ.get("SCREENSHOT", tmp_path / "details.png"))
        browser.close()


def test_a_task_that_is_killed_is_recorded_as_aborted_and_tried_again(
    host: Any, s3: EmbeddedS3, tmp_path: Path
) -> None:
    flag = tmp_path / "pid"
    run = host.trigger("long", conf={"flag": str(flag)})
    pid = int(_until(lambda: flag.exists() and flag.read_text()))
    while_it_ran = host.links(run, "wait")
    os.kill(pid, signal.SIGKILL)

    card = _until(
        lambda: (
            (card := _card(s3, "long.wait", run.run_id))
            and card["state"] != "running"
            and card
        )
    )
    assert card["state"] == "aborted"
    assert while_it_ran["Dask report"].startswith(s3.endpoint)
    assert while_it_ran["Dask dashboard"].endswith("/status")

    assert host.wait(run) == "success"
    assert host.xcom(run, "wait") == host.ask("version")["version"]
    assert "Try 1: was cut off" in host.log(run, "wait", attempt=2)
    assert _card(s3, "long.wait", run.run_id, attempt=2)["state"] == "succeeded"


def test_a_task_that_is_marked_as_failed_ends_with_its_recording_and_cluster(
    host: Any, s3: EmbeddedS3, tmp_path: Path
) -> None:
    flag = tmp_path / "pid"
    run = host.trigger("long", conf={"flag": str(flag)})
    process = psutil.Process(int(_until(lambda: flag.exists() and flag.read_text())))
    cluster = process.children(recursive=True)
    assert any("dask_blackbox.record" in each.cmdline() for each in cluster)
    host.set_state(run, "wait", "failed")

    _until(lambda: not process.is_running() or process.status() == "zombie")
    psutil.wait_procs(cluster, timeout=60)
    assert [each for each in cluster if each.is_running()] == []
    assert _card(s3, "long.wait", run.run_id)["state"] == "aborted"
