"""A few of the workloads of tests/recordings, run on real clusters; its commands run all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

RECORDINGS = Path(__file__).parents[1] / "recordings"


@pytest.mark.parametrize(
    ("command", "workloads"),
    [
        ("healthy.py", ["second_long", "quick_frame"]),
        ("troubled.py", ["data_in_the_graph", "asked_again_and_again"]),
    ],
    ids=["healthy", "troubled"],
)
def test_what_is_found_of_a_real_run_is_true(
    command: str, workloads: list[str], tmp_path: Path
) -> None:
    told = subprocess.run(
        [
            sys.executable,
            str(RECORDINGS / command),
            *workloads,
            "--store",
            str(tmp_path),
        ],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )

    assert told.returncode == 0, told.stdout + told.stderr
