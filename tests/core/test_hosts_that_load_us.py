"""Dask and Python start whatever of ours cannot be imported; all entry points are tried."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from failing_imports import CASES, failures

ROOT = Path(__file__).resolve().parent.parent.parent
FINALISERS = "dask_blackbox.finalisers"
"""Loaded in the recorder, and tried by `test_host_finaliser.py`."""

pytestmark = pytest.mark.processes


def test_all_entry_points_are_tried() -> None:
    tried = {
        each
        for cases in CASES.values()
        for case in cases.values()
        for each in case.groups
    }

    named: set[str] = set()
    for member in ("core", "airflow_provider", "prefect_collection"):
        facts = tomllib.loads((ROOT / member / "pyproject.toml").read_text())
        named |= facts["project"]["entry-points"].keys()

    assert named - tried == {FINALISERS}


@pytest.mark.parametrize("name", CASES["core"])
def test_the_host_starts_whatever_import_of_ours_fails(name: str) -> None:
    assert failures("core", name) == {}


def test_a_command_of_a_host_that_cannot_be_loaded_says_so(tmp_path: Path) -> None:
    facts = tmp_path / "ours_of_a_host-1.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Name: ours-of-a-host\nVersion: 1\n")
    (facts / "entry_points.txt").write_text("[dask_blackbox.commands]\nah = ours:ah\n")
    (tmp_path / "ours.py").write_text("import gone_from_host\n")

    command = [sys.executable, "-m", "dask", "blackbox", "ah"]
    finished: Any = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert finished.returncode == 1
    assert "Traceback" not in finished.stderr
    assert "ours-of-a-host cannot be loaded" in finished.stderr
    assert "No module named 'gone_from_host'" in finished.stderr
