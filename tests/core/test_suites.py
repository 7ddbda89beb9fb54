"""`make test-quick` runs a test that failed once more, and reports it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
FAILS_ONCE = """
from pathlib import Path

def test_fails_once():
    ran = Path(__file__).with_name("ran")
    first = not ran.exists()
    ran.touch()
    assert not first
"""
FAILS = "def test_fails(): assert False\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "suites.py", tmp_path / "tools")
    (tmp_path / ".venvs").symlink_to(ROOT / ".venvs")
    (tmp_path / "tests" / "install").mkdir(parents=True)
    return tmp_path


def run_suite(project: Path, *options: str, **files: str) -> tuple[int, str]:
    for name, text in files.items():
        (project / "tests" / "install" / f"{name}.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "tools/suites.py", "install", *options],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def test_a_test_that_passes_when_run_again_is_listed(project: Path) -> None:
    code, printed = run_suite(project, "--quick", test_once=FAILS_ONCE)

    assert code == 0
    assert "UNSTABLE  passed when run again: FAILED" in printed.splitlines()[-1]
    assert "test_once.py::test_fails_once" in printed.splitlines()[-1]


def test_a_test_that_fails_again_fails_the_suite(project: Path) -> None:
    code, printed = run_suite(project, "--quick", test_it=FAILS, test_once=FAILS_ONCE)

    assert code == 1
    assert "UNSTABLE" not in printed


def test_nothing_runs_again_where_many_tests_failed(project: Path) -> None:
    many = "".join(FAILS.replace("fails", f"fails_{i}") for i in range(4))

    code, printed = run_suite(project, "--quick", test_many=many)

    assert code == 1
    assert "again, on their own" not in printed


def test_nothing_runs_again_at_night(project: Path) -> None:
    code, printed = run_suite(project, test_once=FAILS_ONCE)

    assert code == 1
    assert "again, on their own" not in printed
