"""`BlackboxTaskRunner` as Prefect handles it: duplicated, pickled, sent to workers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
from conditions import scaled
from prefect import task
from prefect_dask.task_runners import DaskTaskRunner
from prefect_dask_blackbox import BlackboxTaskRunner, observed_flow

# Workers can't import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]

SETTINGS: dict[str, Any] = {
    "cluster_kwargs": {"n_workers": 2},
    "adapt_kwargs": {"maximum": 4},
    "client_kwargs": {"timeout": "20s"},
    "store": "s3://bucket/dask",
    "job": "nightly",
    "required": True,
    "fail_flow_on_lost_tasks": False,
}

WITHOUT_US = """
import sys
for name in ("prefect_dask_blackbox", "dask_blackbox"):
    sys.modules[name] = None
"""


def pickled(what: Any) -> bytes:
    """Pickle as Prefect and Dask pickle flows."""
    dumped: bytes = cloudpickle.dumps(what)  # type: ignore[no-untyped-call]
    return dumped


def test_a_duplicate_has_all_settings() -> None:
    runner = BlackboxTaskRunner(**SETTINGS)

    copy = runner.duplicate()

    assert copy == runner
    assert copy.options == runner.options
    assert copy._given == runner._given


def test_a_duplicate_has_the_cluster_object() -> None:
    cluster: Any = object()

    assert BlackboxTaskRunner(cluster=cluster).duplicate()._cluster is cluster


def test_it_travels_as_itself_where_it_is_installed() -> None:
    cluster: Any = object()
    runner = BlackboxTaskRunner(cluster=cluster, job="nightly")

    copy = cloudpickle.loads(pickled(runner))

    assert isinstance(copy, BlackboxTaskRunner)
    assert (copy._cluster, copy.options.job) == (None, "nightly")


def test_credentials_do_not_travel() -> None:
    runner = BlackboxTaskRunner(
        store_settings={"key": "AKIA", "secret": "s3cr3t", "region": "eu-west-1"}
    )

    copy = cloudpickle.loads(pickled(runner))

    assert b"s3cr3t" not in pickled(runner)
    assert copy.options.store_settings == {"region": "eu-west-1"}


def test_a_flow_is_unpickled_where_this_package_is_not_installed() -> None:
    @observed_flow(task_runner=BlackboxTaskRunner(**SETTINGS))
    def nightly(number: int) -> int:
        return number + 1

    script = f"""{WITHOUT_US}
import cloudpickle
flow = cloudpickle.loads(sys.stdin.buffer.read())
runner = flow.task_runner.duplicate()
print(type(runner).__name__, runner.cluster_kwargs, flow.fn(1))
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=pickled(nightly),
        capture_output=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.split() == b"DaskTaskRunner {'n_workers': 2} 2".split()


def test_a_worker_loads_nothing_of_what_a_recording_needs() -> None:
    @observed_flow(task_runner=BlackboxTaskRunner(**SETTINGS))
    def nightly() -> None: ...

    script = """
import sys, cloudpickle
flow = cloudpickle.loads(sys.stdin.buffer.read())
with flow.task_runner.duplicate():
    pass
needed = ("driver", "events", "recorder", "segments")
print([name for name in needed if f"dask_blackbox.{name}" in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=pickled(nightly),
        capture_output=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.split() == [b"[]"]


@pytest.fixture
def foreign_cluster(tmp_path: Path) -> Iterator[str]:
    """The address of a cluster whose processes can't import anything of ours."""
    stubs = tmp_path / "stubs"
    stubs.mkdir()
    (stubs / "sitecustomize.py").write_text(WITHOUT_US)
    environ = {**os.environ, "PYTHONPATH": str(stubs)}
    file = tmp_path / "scheduler.json"
    scheduler = ["scheduler", "--port", "0", "--no-dashboard", "--host", "127.0.0.1"]
    worker = ["worker", "--nworkers", "1", "--nthreads", "1", "--no-dashboard"]
    with ExitStack() as stack:
        for words in (scheduler, worker):
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *words, "--scheduler-file", str(file)],
                env=environ,
                stderr=subprocess.DEVNULL,
            )
            stack.callback(process.wait, 20)
            stack.callback(process.terminate)
            _until_written(file)
        yield json.loads(file.read_text())["address"]


def _until_written(file: Path) -> None:
    deadline = time.monotonic() + scaled(60)
    while not (file.exists() and file.read_text().endswith("}")):
        assert time.monotonic() < deadline, "the scheduler did not start"
        time.sleep(0.05)


@task
def can_import_us() -> bool:
    try:
        import prefect_dask_blackbox  # noqa: F401
    except ImportError:
        return False
    return True


@pytest.mark.nightly
def test_nothing_of_ours_is_needed_on_the_cluster(
    foreign_cluster: str, prefect: Any, store: Path
) -> None:
    @observed_flow(name="foreign", task_runner=DaskTaskRunner(address=foreign_cluster))
    def foreign() -> bool:
        return can_import_us.submit().result()

    assert foreign() is False

    seen = prefect.newest("foreign", store)
    assert seen.state == "COMPLETED"
    assert seen.card.numbers["tasks"] == 1


@observed_flow(name="beside")
def beside() -> None:
    """Use no Dask."""


class RunsAnotherFlow(DaskTaskRunner):
    """While its client belongs to no recording yet, another flow of the process runs."""

    @property
    def client(self) -> Any:
        known = bool(self._client)
        client = super().client
        if not known:
            other = threading.Thread(target=beside)
            other.start()
            other.join()
        return client


@pytest.mark.nightly
def test_another_flow_does_not_record_the_client_of_a_task_runner(
    prefect: Any, store: Path
) -> None:
    one = {"n_workers": 1, "processes": False, "dashboard_address": ":0"}

    @observed_flow(name="owner", task_runner=RunsAnotherFlow(cluster_kwargs=one))
    def owner() -> bool:
        return can_import_us.submit().result()

    owner()

    assert prefect.newest("beside", store).card.numbers["workers"] == 0
    assert prefect.newest("owner", store).card.numbers["tasks"] == 1
