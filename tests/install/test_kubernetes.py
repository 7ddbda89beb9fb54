"""Runs on Kubernetes: the real client and operator of dask-kubernetes, in an environment of its own.

API, node and controllers are `tests/support/kubernetes_cluster.py`: kmock, and what runs the
commands of pods as local processes.  Nobody can start a real API server from PyPI.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from dask_blackbox.reader import Run
from environments_with_core import python_with_core

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(900)]
ROOT = Path(__file__).parents[2]
PACKAGES = ("dask-kubernetes==2026.3.0", "kmock==0.8", "kopf==1.45.2", "psutil")


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of an environment with this package, client and operator."""
    return python_with_core(tmp_path_factory.mktemp("environment"), *PACKAGES)


@pytest.mark.parametrize(
    ("ending", "rule", "says"),
    [
        ("healthy", None, ""),
        ("scale-down", None, ""),
        ("adaptive", None, ""),
        ("memory", "worker-job-memory", "killed at its memory limit of 700 MiB"),
        ("drain", "worker-evicted", "node node-1 was drained or removed"),
        ("evict", "worker-evicted", "low on resource: memory"),
        ("preempt", "worker-preempted", "preempted by Kubernetes"),
        ("unscheduled", "pod-not-started", "Insufficient memory"),
        ("killed", "driver-killed", "SIGKILL"),
        ("image", "pod-not-started", "cannot start because"),
        ("scheduler", "pod-not-started", "whose scheduler never started, cannot start"),
    ],
)
def test_what_kubernetes_says_is_the_verdict(
    python: Path, tmp_path: Path, ending: str, rule: str | None, says: str
) -> None:
    script = ROOT / "tests" / "support" / "kubernetes_run.py"
    printed = subprocess.run(
        [python, script, tmp_path, ending], capture_output=True, text=True, check=False
    ).stderr
    recording = tmp_path / "store" / "runs" / "job=nightly" / f"run={ending}"
    run = Run.open(str(recording / "attempt=1"))

    assert (run.state == "succeeded") is (rule is None), printed[-2_000:]
    found = run.findings()
    assert rule or not found, found
    assert [each.rule for each in found if each.severity == "failure"][:1] == (
        [rule] if rule else []
    )
    assert not rule or says in f"{found[0].title} {found[0].cause}"
