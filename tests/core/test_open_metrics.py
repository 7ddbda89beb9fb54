"""The last run of each job, as Prometheus reads it."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from pathlib import Path

import dask
import pytest
from app_server import served
from click.testing import CliRunner
from dask_blackbox.cli import blackbox
from dask_blackbox.layout import sketch_name
from dask_blackbox.reader.open_metrics import CONTENT_TYPE, open_metrics
from dask_blackbox.serve import create_app
from dask_blackbox.sketch import Sketch, packed
from dask_blackbox.testing import EPOCH
from stored_runs import Shelf

_SAMPLE = re.compile(r'dask_blackbox_(\w+)\{((?:\w+="[^"]*",?)*)\} (\S+)')


def a_night(shelf: Shelf, number: int, state: str, job: str = "nightly") -> None:
    started = EPOCH + number * 86_400
    address = shelf.record(job, f"run-{number}", state=state, started=started)
    numbers = {"tasks": 10.0 * number, "task_failures": 2.0, "deaths": 1.0}
    numbers["thread_seconds"] = 3600.0 * number
    sketch = Sketch(
        job=job, run_id=f"run-{number}", state=state, started=started, numbers=numbers
    )
    verdict = "worker-memory-limit" if state == "failed" else None
    name = sketch_name(
        address,
        started,
        state,
        duration=60.0 * number,
        peak_memory=2**30,
        verdict=verdict,
    )
    shelf.store.put(name, packed(sketch))


@pytest.fixture
def nights(shelf: Shelf) -> Shelf:
    a_night(shelf, 1, "succeeded")
    a_night(shelf, 2, "failed")
    a_night(shelf, 1, "succeeded", job="hourly")
    shelf.record("weekly", "run-1", state="running", started=time.time())
    return shelf


def samples(text: str) -> dict[tuple[str, str], str]:
    """Return each value by its metric and labels."""
    return {(found[1], found[2]): found[3] for found in _SAMPLE.finditer(text)}


def test_each_job_has_its_last_run(nights: Shelf) -> None:
    found = samples(open_metrics(nights.store))

    nightly = 'job_name="nightly"'
    info = f'{nightly},state="failed",verdict="worker-memory-limit"'
    assert found["last_run_info", info] == "1.0"
    assert found["last_run_duration_seconds", nightly] == "120.0"
    assert found["last_run_peak_memory_bytes", nightly] == repr(float(2**30))
    assert found["last_run_tasks", nightly] == "20.0"
    assert found["last_run_task_failures", nightly] == "2.0"
    assert found["last_run_worker_deaths", nightly] == "1.0"
    at = found["last_success_timestamp_seconds", nightly]
    assert float(at) == EPOCH + 86_400
    assert (
        found["last_run_info", 'job_name="weekly",state="running",verdict=""'] == "1.0"
    )
    assert ("last_run_duration_seconds", 'job_name="weekly"') not in found


def test_with_a_price_each_last_run_has_its_cost(nights: Shelf) -> None:
    prices = {"blackbox.price.core-hour": 0.05, "blackbox.price.currency": "EUR"}
    with dask.config.set(prices):
        found = samples(open_metrics(nights.store))

    assert found["last_run_cost", 'job_name="nightly",currency="EUR"'] == "0.1"
    assert found["last_run_cost", 'job_name="hourly",currency="EUR"'] == "0.05"
    assert ("last_run_cost", 'job_name="weekly",currency="EUR"') not in found
    assert "last_run_cost" not in open_metrics(nights.store)


def test_a_store_without_runs_has_metrics_without_samples(shelf: Shelf) -> None:
    text = open_metrics(shelf.store)

    assert samples(text) == {}
    assert text.endswith("dask_blackbox_jobs_left_out 0\n# EOF\n")


def test_the_viewer_and_the_command_have_the_same(
    nights: Shelf, tmp_path: Path
) -> None:
    file = tmp_path / "dask.prom"
    command = ["metrics", "--store", nights.url]
    printed = CliRunner().invoke(blackbox, command, catch_exceptions=False)
    written = CliRunner().invoke(blackbox, [*command, "--output", str(file)])
    with served(create_app(nights.store)) as ask:
        answer = ask("/metrics")

    assert answer.headers["content-type"] == CONTENT_TYPE
    assert written.exit_code == 0
    assert (
        printed.output == answer.text == file.read_text() == open_metrics(nights.store)
    )
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["dask.prom"]


def test_a_folder_that_is_missing_is_reported(nights: Shelf, tmp_path: Path) -> None:
    file = tmp_path / "missing" / "dask.prom"
    command = ["metrics", "--store", nights.url, "--output", str(file)]
    result = CliRunner().invoke(blackbox, command)

    assert result.exit_code == 2
    assert "cannot be written: No such file or directory" in result.output


@pytest.mark.nightly
def test_prometheus_finds_nothing_wrong(nights: Shelf) -> None:
    promtool = shutil.which("promtool", path="/usr/bin")
    if promtool is None:
        pytest.skip("promtool is not installed (Debian: prometheus)")
    text = open_metrics(nights.store).replace("# EOF\n", "")
    done = subprocess.run(
        [promtool, "check", "metrics"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
