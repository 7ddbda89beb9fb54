"""Cluster objects of dask-cloudprovider, in an environment of its own; no cloud is asked.

A real `VMCluster` whose virtual machines are processes of this host (`tests/support/vm_run.py`).
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from conditions import scaled
from dask_blackbox.reader import Run
from dask_blackbox.report.workers import worker_processes
from environments_with_core import python_with_core

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(600)]
SCRIPT = Path(__file__).parents[1] / "support" / "vm_run.py"
PACKAGES = ("dask-cloudprovider==2025.9.0",)


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of an environment with this package and dask-cloudprovider."""
    return python_with_core(tmp_path_factory.mktemp("environment"), *PACKAGES)


def recorded(python: Path, folder: Path, ending: str) -> tuple[Run, str]:
    """Return the recording of a run, and what it printed."""
    run = (python.parent / "dask", "blackbox", "run", "--store", folder / "store")
    words = (*run, "--job", "nightly", "--run-id", ending, "--", python, SCRIPT, ending)
    done = subprocess.run(
        [*map(str, words)], env=os.environ, capture_output=True, text=True, check=False,
        timeout=scaled(300),
    )  # fmt: skip
    recording = folder / "store" / "runs" / "job=nightly" / f"run={ending}"
    return Run.open(str(recording / "attempt=1")), done.stderr[-3_000:]


@pytest.mark.parametrize("ending", ["close", "scale-down"])
def test_nothing_is_found_in_a_run_that_ends_its_virtual_machines(
    python: Path, tmp_path: Path, ending: str
) -> None:
    run, printed = recorded(python, tmp_path, ending)

    assert run.state == "succeeded", printed
    assert run.findings() == ()
    processes = worker_processes(run)
    assert {each.fate for each in processes} <= {"left", "stayed"}
    # Workers choose their names themselves, which their cluster object does not know them by.
    assert all("; Amazon EC2 instance i-" in each.how for each in processes)


def test_a_virtual_machine_that_is_lost_is_no_ordered_end(
    python: Path, tmp_path: Path
) -> None:
    run, printed = recorded(python, tmp_path, "killed")

    verdict = run.findings()[0]
    assert verdict.rule == "worker-host-lost", (verdict, printed)
    assert (
        "`aws ec2 describe-instances --instance-ids INSTANCE` says it" in verdict.remedy
    )
    assert "because Amazon EC2 was not asked" in verdict.cause
