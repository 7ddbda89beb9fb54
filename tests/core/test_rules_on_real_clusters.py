"""Runs of every kind on real clusters: what is reported of them is true."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).with_name("scenarios")))

import real_runs

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize("name", real_runs.RUNS)
def test_what_is_reported_of_a_real_run_is_true(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, real_runs.__file__, str(tmp_path), name],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
