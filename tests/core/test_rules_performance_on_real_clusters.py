"""A few of the workloads of tests/recordings, run on real clusters; its commands run all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conditions import scaled

pytestmark = [pytest.mark.processes, pytest.mark.nightly]

RECORDINGS = Path(__file__).parents[1] / "recordings"


@pytest.mark.parametrize(
    ("command", "workloads"),
    [
        ("healthy.py", ["second_long", "quick_frame"]),
        ("with_findings.py", ["data_in_the_graph", "asked_again_and_again"]),
        (
            "with_findings.py",
            [
                "second_half_is_one_task",
                "second_half_is_one_merge",
                "driver_computes_most_of_a_short_run",
                "chunks_of_a_third_of_a_worker",
            ],
        ),
    ],
    ids=["healthy", "with-findings", "short"],
)
def test_what_is_found_of_a_real_run_is_true(
    command: str, workloads: list[str], tmp_path: Path
) -> None:
    reported = subprocess.run(
        [
            sys.executable,
            str(RECORDINGS / command),
            *workloads,
            "--store",
            str(tmp_path),
        ],
        capture_output=True,
        text=True,
        timeout=scaled(280),
        check=False,
    )

    assert reported.returncode == 0, reported.stdout + reported.stderr
