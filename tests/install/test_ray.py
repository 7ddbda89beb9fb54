"""Dask on a real Ray, in an environment of its own: its tasks, and what they raise."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from conditions import scaled
from dask_blackbox.reader import Run
from environments_with_core import python_with_core

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(900)]
ROOT = Path(__file__).parents[2]
PACKAGES = ("ray==2.60.0", "numpy", "pandas", "pyarrow")
SCRIPT = ROOT / "tests" / "support" / "ray_run.py"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of an environment with this package and Ray."""
    return python_with_core(tmp_path_factory.mktemp("environment"), *PACKAGES)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a short path: Ray's sockets lie deep below it."""
    with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as made:
        yield Path(made)


DOES = {"good": "load", "raises": "divide", "killed": "die"}
OUTCOMES = {
    "good": {"finished": 4},
    "raises": {"erred": 2, "finished": 2},
    "killed": {"killed": 3},
}
"""How many tasks ended how; Ray says of one whose input raised that it failed as well."""


def are_recorded(run: Run, ending: str) -> None:
    """Check that the tasks of a run are there, with their functions, times and workers."""
    tasks = run.tasks
    assert dict(tasks.group_by("outcome").len().rows()) == OUTCOMES[ending]
    also = {"sum"} if ending != "killed" else set()
    assert {*tasks["prefix"]} == {DOES[ending], *also}
    assert (tasks["compute"] >= 0).all()
    assert (tasks["start"] <= tasks["stop"]).all()
    workers = {*tasks["worker"].drop_nulls()}
    assert workers == {*run.workers["address"]}
    assert all(each.startswith("ray://") for each in workers)
    assert workers or ending == "killed"  # who is killed cannot report itself


@pytest.mark.parametrize(
    ("ending", "expected"),
    [
        ("good", None),
        (
            "raises",
            (
                "task-exception",
                "ZeroDivisionError in a task of Dask on Ray: division by zero",
            ),
        ),
        (
            "killed",
            ("driver-exception", "WorkerCrashedError in a task of Dask on Ray: "),
        ),
    ],
)
def test_what_a_task_on_ray_raised_is_the_verdict(
    python: Path,
    tmp_path: Path,
    folder: Path,
    ending: str,
    expected: tuple[str, str] | None,
) -> None:
    run = (python.parent / "dask", "blackbox", "run", "--store", tmp_path / "store")
    words = (*run, "--job", "nightly", "--run-id", ending, "--", python, SCRIPT)
    # Ray's own deadlines are short for a machine that is busy.
    seconds = {"RAY_raylet_start_wait_time_s": str(int(scaled(120)))}
    printed = subprocess.run(
        [*map(str, words), str(folder), ending], env=os.environ | seconds,
        capture_output=True, text=True, check=False, timeout=scaled(300),
    ).stderr  # fmt: skip
    recording = tmp_path / "store" / "runs" / "job=nightly" / f"run={ending}"
    recorded = Run.open(str(recording / "attempt=1"))

    assert (recorded.state == "succeeded") is (expected is None), printed[-2_000:]
    are_recorded(recorded, ending)
    found = [each for each in recorded.findings() if each.severity == "failure"]
    assert [each.rule for each in found] == list(expected or ())[:1]
    assert expected is None or found[0].title.startswith(expected[1])
    if ending == "raises":
        assert str(found[0].subject.key).startswith("divide-")
        assert f"{SCRIPT}:24 in divide" in found[0].cause
