"""Flow runs of which no process is left: neither the flow's, nor the recorder's."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import pytest
from conditions import scaled
from dask_blackbox import Run
from dask_blackbox.events import TaskNamed
from prefect.settings import PREFECT_API_URL
from recorder_processes import recorder_of

# The recorder counts as lost after 60 seconds of silence.
pytestmark = pytest.mark.nightly

HERE = Path(__file__).parent


def until(condition: Callable[[], bool], what: str, seconds: float = 150) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + scaled(seconds)
    while not condition():
        assert time.monotonic() < deadline, f"not {what} after {seconds:g} s"

        time.sleep(0.2)


def kill_with_recorder(pid: int) -> None:
    """Kill a process with all that it has started, the recorder included."""
    process = psutil.Process(pid)
    family = [*process.children(recursive=True), recorder_of(pid), process]
    for each in family:
        each.kill()
    psutil.wait_procs(family, timeout=scaled(30))


def named_tasks(store: Path) -> int:
    """Return of how many tasks the store has the name."""
    (folder,) = store.glob("runs/job=endless/*/*/")
    return len(Run.open(str(folder)).of(TaskNamed))


def finalise(run: str, store: Path, environment: dict[str, str]) -> str:
    """Call the command; return what it prints."""
    dask = str(Path(sys.executable).with_name("dask"))
    made = subprocess.run(
        [dask, "blackbox", "prefect", "finalise", run, "--store", str(store)],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
        timeout=scaled(120),
    )
    return made.stdout


def test_the_command_ends_a_flow_run_of_which_no_process_is_left(
    prefect: Any, store: Path, tmp_path: Path
) -> None:
    flag = tmp_path / "began"
    environment = {
        **os.environ,
        "PREFECT_API_URL": str(PREFECT_API_URL.value()),
        "DASK_BLACKBOX__STORE__URL": str(store),
        "FLAG": str(flag),
    }
    with subprocess.Popen(
        [sys.executable, str(HERE / "failing_flows.py"), "endless"],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        until(flag.exists, "running")
        until(lambda: "1 of 4" in str(prefect.newest("endless", store)), "shown")
        # Prefect does not know the task run that is queued; the recording does.
        until(lambda: named_tasks(store) == 4, "recorded")
        kill_with_recorder(process.pid)
        process.wait()

    before = prefect.newest("endless", store)
    (folder,) = store.glob("runs/job=endless/*/*/")
    until(lambda: Run.open(str(folder)).state == "lost", "lost")
    first = finalise(str(before.id), store, environment)
    after = prefect.newest("endless", store)
    again = finalise(str(before.id), store, environment)

    assert before.state == "RUNNING"
    assert "RUNNING" in {task.state for task in before.all_tasks}
    assert first.endswith("its flow run's card and states are complete now\n")
    assert after.state == "CRASHED"
    assert len(after.all_tasks) == 4
    assert {task.state for task in after.all_tasks} == {"COMPLETED", "CRASHED"}
    assert after.message in after.artifacts["dask-run-endless"]
    assert prefect.events("dask.run.diagnosed", after.id) == ["driver-killed"]
    assert "| driver-killed |" in prefect.page("dask-job-endless")
    assert again.endswith("nothing to do\n")
