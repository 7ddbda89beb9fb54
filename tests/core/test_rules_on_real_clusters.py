"""A few of the cases of tests/recordings, reported on real clusters; make.py runs all of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conditions import scaled

pytestmark = [pytest.mark.processes, pytest.mark.nightly]

MAKE = Path(__file__).parents[1] / "recordings" / "make.py"


@pytest.mark.parametrize(
    "case",
    [
        "healthy_restart",
        "exception_in_delayed",
        "memory_limit_with_innocents",
        "segfault_in_delayed",
        "os_exit_0",
        "driver_fails",
        "nested_client",
        "nobody_has_the_resource",
        "lock_as_dependency",
    ],
)
def test_what_is_reported_of_a_real_run_is_true(case: str, tmp_path: Path) -> None:
    reported = subprocess.run(
        [sys.executable, str(MAKE), case, "--store", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=scaled(150),
        check=False,
    )

    assert reported.returncode == 0, reported.stdout + reported.stderr
